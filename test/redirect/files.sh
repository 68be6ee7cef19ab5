#!/bin/sh
# Check our audit libraries as ELF files: files.sh FOLDER
#
# Each library needs no other library, exports only the functions that ld.so calls, is small, and has the build note.
dir=$1
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
check() { # file, exports
	lib=$dir/$1
	readelf -dW "$lib" | grep NEEDED && fail "$1 needs a library"
	have=$(nm -D --defined-only "$lib" | awk '{print $3}' | sort | tr '\n' ' ')
	[ "$have" = "$2 " ] || fail "$1 exports: $have; expected: $2"
	[ -z "$(nm -D --undefined-only "$lib")" ] || fail "$1 has undefined symbols"
	readelf -p .note.gangway "$lib" | grep -q 'gangway [0-9]' || fail "$1 has no build note"
	readelf -lW "$lib" | grep -q 'GNU_STACK.* RW ' || fail "$1 has an executable stack"
	readelf -lW "$lib" | grep -q TLS && fail "$1 has thread-local storage"
	strip -o "$work/stripped" "$lib"
	[ "$(stat -c %s "$work/stripped")" -lt 32768 ] || fail "$1 has $(stat -c %s "$work/stripped") bytes after strip; the limit is 32767"
}
check libgangway-audit.so 'la_objopen la_objsearch la_version'
check libgangway-follow.so 'la_objopen la_symbind64 la_version'
exit $failed
