#!/bin/sh
# Fetches the Kafka broker that tests start, where there are Java and Maven: the version in kafka.xml, checked against its
# checksums. Where it cannot be had the tests leave it out, and say so.
set -eu
jars=.venv/kafka
if [ -d $jars ] || ! command -v java >/dev/null || ! command -v mvn >/dev/null; then exit; fi
echo "Fetching a Kafka broker"
fetched=$(mktemp -d "$PWD/.venv/kafka.XXXXXX")
if mvn -q -B -C -f scripts/kafka.xml dependency:copy-dependencies -DoutputDirectory="$fetched" \
    -Daether.connector.connectTimeout=10000 -Daether.connector.requestTimeout=60000 >"$fetched/log" 2>&1; then
    rm "$fetched/log" && mv "$fetched" $jars
else
    grep -m 1 ERROR "$fetched/log" || true
    rm -rf "$fetched"
fi
