#!/bin/sh
# Installs what the browser and Spark tests need beside Python, where that is possible: as root on Debian or Ubuntu.
# Elsewhere it does nothing; the tests then end with a line that names what is missing.
set -eu

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then exit; fi

have() { for name in "$@"; do command -v "$name" >/dev/null && return; done; return 1; }
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null; }

if have chromium chromium-browser google-chrome && have java; then exit; fi
apt-get update -qq || exit 0
if ! have chromium chromium-browser google-chrome; then echo "Installing Chromium"; install chromium || true; fi
if ! have java; then
    echo "Installing a Java runtime"
    install openjdk-17-jre-headless || install openjdk-21-jre-headless || true
fi
