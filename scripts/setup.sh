#!/bin/sh
# Makes .venv and installs the project with all extras. Needs Python 3.11 or newer and nothing else.
set -eu
cd "$(dirname "$0")/.."

find_python() {
    for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14; do
        "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
    done
    python=
}

if [ ! -x .venv/bin/python ]; then
    find_python
    # Debian and Ubuntu ship Python without the part that makes virtual environments.
    if [ -z "$python" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv
        find_python
    fi
    if [ -z "$python" ]; then
        echo "Whimbrel needs Python 3.11 or newer with venv: sudo apt-get install python3-venv, or make PYTHON=/path/to/python3 setup" >&2
        exit 1
    fi
    echo "Making .venv with $("$python" --version)"
    "$python" -m venv .venv
fi

target=".[workbench,spark,feeds,demo,bench,dev]"
echo "Installing $target"
if .venv/bin/python -m pip install --quiet uv; then
    # uv does not read pip's settings: hand over where to look.
    if [ -n "${PIP_INDEX_URL:-}" ]; then export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"; fi
    if [ -n "${PIP_FIND_LINKS:-}" ]; then export UV_FIND_LINKS="${UV_FIND_LINKS:-$PIP_FIND_LINKS}"; fi
    if [ -n "${PIP_CERT:-}" ]; then export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"; fi
    .venv/bin/uv pip install --quiet --compile-bytecode --python .venv/bin/python --editable "$target" && installed=yes
fi
if [ -z "${installed:-}" ]; then .venv/bin/python -m pip install --quiet --editable "$target"; fi
# Compiled now, the first import is as fast as the next.
.venv/bin/python -m compileall -q engine workbench
