#!/bin/sh
# Fetches what some tests need from Maven, where there are Java and Maven: a Kafka broker, and files of sqllogictest. The
# versions stand in kafka.xml and sqllogictest.xml; Maven compares checksums. Where it cannot be had the tests leave it out,
# and say so.
set -eu
if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then exit; fi

fetch() { # a name, and what it is
    folder=.venv/$1
    if [ -d "$folder" ]; then return; fi
    echo "Fetching $2"
    fetched=$(mktemp -d "$PWD/.venv/$1.XXXXXX")
    if mvn -q -B -C -f "scripts/$1.xml" dependency:copy-dependencies -DoutputDirectory="$fetched" \
        -Daether.connector.connectTimeout=10000 -Daether.connector.requestTimeout=60000 >"$fetched/log" 2>&1; then
        rm "$fetched/log" && mv "$fetched" "$folder"
    else
        grep -m 1 ERROR "$fetched/log" || true
        rm -rf "$fetched"
    fi
}

fetch kafka "a Kafka broker"
fetch sqllogictest "files of sqllogictest"
