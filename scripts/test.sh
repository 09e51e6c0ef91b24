#!/bin/sh
# All tests but the long ones, in two processes side by side: pages and notebooks wait for other processes most of the time,
# and what thousands of other tests leave in memory does not slow them down. With a few others they take about as long.
set -u
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"; kill "$pages" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

beside="tests/workbench tests/docs/test_notebooks.py tests/laws/test_bags.py tests/laws/test_top_k.py tests/engine/progressive
        tests/engine/optimize tests/engine/aggregates/test_edges_of_numbers.py"
"$python" -m pytest --durations=10 $beside --basetemp "$folder/pages" >"$folder/log" 2>&1 &
pages=$!
"$python" -m pytest --durations=10 $(printf -- '--ignore %s ' $beside)
rest=$?
wait "$pages"
status=$?
trap 'rm -rf "$folder"' EXIT
echo "$beside:"
cat "$folder/log"
[ "$rest" -eq 0 ] && [ "$status" -eq 0 ]
