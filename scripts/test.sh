#!/bin/sh
# All tests but the long ones, in three processes side by side. Pages and notebooks wait for other processes most of the
# time, so what only computes takes what the others leave; and what thousands of tests leave in memory slows no page down.
set -u
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"; kill "$pages" "$computed" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

pages_of="tests/workbench tests/docs/test_notebooks.py"
computed_of="tests/laws/test_bags.py tests/laws/test_top_k.py tests/engine/progress tests/engine/optimize"
"$python" -m pytest $pages_of --basetemp "$folder/pages" >"$folder/pages.log" 2>&1 &
pages=$!
nice -n 10 "$python" -m pytest $computed_of --basetemp "$folder/computed" >"$folder/computed.log" 2>&1 &
computed=$!
"$python" -m pytest $(printf -- '--ignore %s ' $pages_of $computed_of)
failed=$?
wait "$computed" || failed=1
wait "$pages" || failed=1
trap 'rm -rf "$folder"' EXIT
for log in computed pages; do
    echo "$log:"
    cat "$folder/$log.log"
done
[ "$failed" -eq 0 ]
