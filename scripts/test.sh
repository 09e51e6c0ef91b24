#!/bin/sh
# All tests but the long ones, in two processes side by side, which take about as long: pages and notebooks wait for other
# processes most of the time, and what thousands of other tests leave in memory does not slow them down.
set -u
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"; kill "$pages" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

pages_and_notebooks="tests/workbench tests/docs/test_notebooks.py"
"$python" -m pytest $pages_and_notebooks --basetemp "$folder/pages" >"$folder/log" 2>&1 &
pages=$!
"$python" -m pytest --ignore tests/workbench --ignore tests/docs/test_notebooks.py
rest=$?
wait "$pages"
status=$?
trap 'rm -rf "$folder"' EXIT
echo "$pages_and_notebooks:"
cat "$folder/log"
[ "$rest" -eq 0 ] && [ "$status" -eq 0 ]
