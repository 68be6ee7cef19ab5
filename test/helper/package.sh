#!/bin/sh
# Install a Debian package if its program is missing: package.sh PROGRAM PACKAGE
#
# Exits with 77 and a reason if the package cannot be installed, or if GANGWAY_TEST_INSTALL=0 forbids it.
program=$1
package=$2

skip() {
	echo "skipped: $program is not installed, and $*" >&2
	exit 77
}

command -v "$program" >/dev/null && exit 0
[ "${GANGWAY_TEST_INSTALL:-1}" != 0 ] || skip "GANGWAY_TEST_INSTALL=0 forbids installing it"
[ "$(id -u)" = 0 ] || skip "only root can install it"
command -v apt-get >/dev/null || skip "apt-get is missing"

cache=${GANGWAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gangway-test}
mkdir -p "$cache" 2>/dev/null || skip "cannot write to $cache"
exec 9>"$cache/apt.lock"
flock 9
command -v "$program" >/dev/null && exit 0
refused=$cache/$package.refused
[ -n "$(find "$refused" -mmin -10 2>/dev/null)" ] && skip "$(cat "$refused")"

options='-qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o DPkg::Lock::Timeout=60'
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
install() {
	# shellcheck disable=SC2086
	timeout 300 apt-get $options install -y --no-install-recommends "$package" >/dev/null 2>&1 9>&-
}
# shellcheck disable=SC2086
install || { timeout 100 apt-get $options update >/dev/null 2>&1 9>&-; install; }
command -v "$program" >/dev/null && exit 0
echo "apt-get cannot install $package" >"$refused"
skip "apt-get cannot install $package"
