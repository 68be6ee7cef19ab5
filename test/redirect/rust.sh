#!/bin/sh
# Check that the children of a Rust program load our library although they get a new environment: rust.sh GANGWAY FOLDER
gangway=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
command -v rustc >/dev/null && rustc --version >/dev/null 2>&1 || { echo "skipped: no rustc; install the Debian package rustc"; exit 77; }
version=$(getconf GNU_LIBC_VERSION | sed 's/.* 2\.//')
[ "$version" -ge 35 ] || { echo "skipped: gangway run follows children from glibc 2.35 on"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT LD_PRELOAD GANGWAY_FOLLOW GANGWAY_KEEP GANGWAY_AUDIT_LOG
rustc -O -o "$work/launch" "$here/../helper/redirect/launch.rs" || exit 1

failed=0
expect() { # case, output, text that the output must contain
	case $2 in
	*"$3"*) ;;
	*) echo "FAIL: $1: got: $2; expected: $3"; failed=1 ;;
	esac
}
for how in spawn fork exec; do
	for mode in linked opened; do
		set -- "$work/launch" "$how" "$out/decoy" "$out/plain/$mode"
		expect "$how, $mode, without gangway run" "$("$@" 2>&1)" "ours 0 decoy 1 version"
		expect "$how, $mode, gangway run" "$("$gangway" run --on null -- "$@" 2>&1)" "ours 1 decoy 0 version 13000"
	done
done
exit $failed
