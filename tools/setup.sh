#!/bin/sh
# Installs the Debian packages that building and testing need and that are not there yet.
packages="gcc libc6-dev binutils cmake ninja-build liblz4-dev libzstd-dev libncurses-dev clang-format-19"

missing=
for p in $packages; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "This machine has no apt-get. Please install what these Debian packages hold:$missing" >&2
	command -v cmake >/dev/null && command -v ninja >/dev/null && command -v cc >/dev/null && exit 0
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	sudo=
elif command -v sudo >/dev/null; then
	sudo=sudo
else
	echo "Please run as root: apt-get install$missing" >&2
	exit 1
fi
echo "Installing:$missing"
log=$(mktemp)
if ! { $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
rm -f "$log"
