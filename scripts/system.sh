#!/bin/sh
# Installs what the browser, Spark and broker tests need beside Python, where that is possible: as root on Debian or Ubuntu.
# Elsewhere it does nothing; the tests then end with a line that names what is missing.
set -eu

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then exit; fi

have() { for name in "$@"; do command -v "$name" >/dev/null && return; done; return 1; }
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null; }

# Debian starts a server when it is installed; the tests start their own, on free ports.
quietly() {
    policy=/usr/sbin/policy-rc.d
    if [ -e $policy ]; then install "$1"; return; fi
    printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy
    install "$1" && done=0 || done=1
    rm -f $policy
    return $done
}

have_postgres() { have postgres || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; }
have_brokers() { have redis-server && have mosquitto && have nats-server && have_postgres; }

if have chromium chromium-browser google-chrome && have java && have_brokers; then exit; fi
apt-get update -qq || exit 0
if ! have chromium chromium-browser google-chrome; then echo "Installing Chromium"; install chromium || true; fi
if ! have java; then
    echo "Installing a Java runtime"
    install openjdk-17-jre-headless || install openjdk-21-jre-headless || true
fi
for broker in redis-server mosquitto nats-server; do
    if ! have $broker; then echo "Installing $broker"; quietly $broker || true; fi
done
if ! have_postgres; then echo "Installing PostgreSQL"; quietly postgresql || true; fi
