#!/bin/sh
# All tests but the long ones, in two processes side by side: pages and notebooks wait for browsers most of the time,
# and what thousands of other tests leave in memory does not slow them down.
set -u
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"; kill "$pages" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

"$python" -m pytest tests/workbench --basetemp "$folder/pages" >"$folder/log" 2>&1 &
pages=$!
"$python" -m pytest --ignore tests/workbench
rest=$?
wait "$pages"
status=$?
trap 'rm -rf "$folder"' EXIT
echo "tests/workbench:"
cat "$folder/log"
[ "$rest" -eq 0 ] && [ "$status" -eq 0 ]
