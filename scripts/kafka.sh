#!/bin/sh
# Fetches the Kafka broker that tests start, where there are Java and Maven: the version in kafka.xml, checked against its
# checksums. Where it cannot be had the tests leave it out, and say so.
set -eu
jars=.venv/kafka
if [ -d $jars ] || ! command -v java >/dev/null || ! command -v mvn >/dev/null; then exit; fi
echo "Fetching a Kafka broker"
fetched=$(mktemp -d "$PWD/.venv/kafka.XXXXXX")
if mvn -q -B -C -f scripts/kafka.xml dependency:copy-dependencies -DoutputDirectory="$fetched" >"$fetched/log" 2>&1; then
    rm "$fetched/log" && mv "$fetched" $jars
else
    tail -n 3 "$fetched/log" && rm -rf "$fetched"
fi
