#!/bin/sh
# All tests but the long ones and soaks; with the argument `long` or `soak`, those alone. They run part by part, three
# parts at a time: whichever process is done takes the next part. A part leaves out what those before it have; the last
# one has all that is left. It is among the largest and so begins first, with the tests of browsers and of feeds, which
# mostly wait. Ends with the ten slowest tests.
set -u
which="not long and not soak"
case "${1:-}" in
long)
    if [ $# -eq 1 ] && [ "$(date +%s)" -ge "${WHIMBREL_LONG_TESTS_UNTIL:-9999999999}" ]; then
        echo "No long test is begun: the time for them is over."
        exit 0
    fi
    which="long and not soak" again=$1 && shift
    ;;
soak) which="soak" again=$1 && shift ;;
esac
parts="tests/workbench
tests/engine/connect tests/engine/spark
tests/laws/test_lifetimes.py tests/laws/test_joins.py tests/laws/test_bags.py
tests/laws
tests/engine/aggregates
tests/engine/operators
tests/engine/run tests/engine/stream
tests/docs
tests/engine/progressive tests/engine/optimize"

if [ $# -eq 2 ]; then # one part, for the processes below: its number, and a folder for its output
    paths=$(printf '%s\n' "$parts" | sed -n "$1p")
    before=$(printf '%s\n' "$parts" | sed "$1,\$d")
    # shellcheck disable=SC2046,SC2086 # several words each
    .venv/bin/python -m pytest -m "$which" --durations=10 --basetemp "$2/part$1" $paths \
        ${before:+$(printf -- '--ignore %s ' $before)} >"$2/part$1.log" 2>&1
    status=$?
    if [ $status -eq 5 ]; then status=0; fi # a part without any such test
    printf '%s:\n%s\n' "${paths:-the rest}" "$(cat "$2/part$1.log")"
    exit $status
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
count=$(printf '%s\n' "$parts" | wc -l)
{ echo "$((count + 1))"; seq "$count"; } | xargs -P 3 -I '{}' sh "$0" ${again:-} '{}' "$folder"
status=$?
echo "The ten slowest:"
cat "$folder"/*.log | grep -E '^[0-9.]+s (call|setup|teardown) ' | sort -rn | head -n 10
exit $status
