#!/bin/sh
# Create a minimal Debian as a tar file with debootstrap, and keep it in the tests' cache: bare.sh [PACKAGE...]
#
# Prints its path. Exits with 77 and a reason if it cannot be created.
[ "$(id -u)" = 0 ] || { echo "skipped: root is needed to create a chroot" >&2; exit 77; }
sh "$(dirname "$0")/../helper/package.sh" debootstrap debootstrap || exit
cache=${GANGWAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gangway-test}
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
mkdir -p "$cache"
base=$cache/debootstrap-$release$(printf -- '-%s' "$@" | sed 's/^-$//').tar
exec 9>"$base.lock"
flock 9
[ -e "$base" ] && { echo "$base"; exit 0; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$base.new"' EXIT
mirror=$(sed -n 's/^URIs: *\(http[^ ]*\/debian\)\/* *$/\1/p; s/^deb \(http[^ ]*\/debian\)\/* .*/\1/p' \
	/etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
timeout 800 debootstrap --variant=minbase ${1:+--include="$(echo "$*" | tr ' ' ,)"} "$release" "$work/root" ${mirror:+"$mirror"} \
	>"$work/log" 2>&1 9>&- || { echo "skipped: debootstrap cannot create $release: $(tail -n 1 "$work/log")" >&2; exit 77; }
tar -C "$work/root" --one-file-system -cf "$base.new" . && mv "$base.new" "$base" || exit 1
echo "$base"
