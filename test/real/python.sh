#!/bin/sh
# Run a Python client on the CPU device: python.sh GANGWAY PROGRAM PACKAGE...
#
# The program compares the client's results with those of the client's own CPU code, or numpy's. The packages come from PyPI
# into an environment that the test keeps in $GANGWAY_TEST_CACHE; without python3, a package index or room, the test is
# skipped. DEVICE is the device; default cpu.
gangway=$1
program=$2
shift 2
cache=${GANGWAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gangway-test}
name=$(basename "$program" .py)
home=$cache/python-$name

skip() {
	echo "skipped: $*"
	exit 77
}

command -v python3 >/dev/null || skip "python3 is not installed"
mkdir -p "$cache" 2>/dev/null || skip "cannot write to $cache"
exec 9>"$cache/python-$name.lock"
flock 9
if [ ! -e "$home/complete" ]; then
	rm -rf "$home"
	python3 -m venv "$home" >"$cache/python-$name.log" 2>&1 || skip "python3 has no venv: $(tail -n 1 "$cache/python-$name.log")"
	"$home/bin/python" -m pip install --quiet --only-binary :all: "$@" >"$cache/python-$name.log" 2>&1 ||
		skip "pip cannot install $*: $(tail -n 1 "$cache/python-$name.log")"
	: >"$home/complete"
fi
exec 9>&-

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
HOME=$work XDG_CACHE_HOME=$work/cache "$gangway" run --on "${DEVICE:-cpu}" -- "$home/bin/python" -W ignore "$program"
