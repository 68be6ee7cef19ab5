#!/bin/sh
# Our libraries as ELF files: a library exports exactly the names in its .api file, has the right SONAME and no version
# nodes, needs libc only, is hardened and small, and has the build note.
#
#	exports.sh FILE LIST SONAME
lib=$1
list=$2
soname=$3
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

nm -D --defined-only "$lib" | awk '{print $3}' | sort >"$out/have"
sort "$list" >"$out/want"
diff "$out/want" "$out/have" >"$out/diff" || { cat "$out/diff"; fail "exports differ from the list (< missing, > extra)"; }

readelf -dW "$lib" >"$out/dyn"
grep -qF "[$soname]" "$out/dyn" || fail "SONAME is not $soname"
if [ -z "$SANITIZED" ]; then
	grep NEEDED "$out/dyn" | grep -vE '\[(libc.so.6|ld-linux-x86-64.so.2)\]' && fail "needs more than libc"
	grep -q 'BIND_NOW\|FLAGS.*NOW' "$out/dyn" || fail "not linked with -z now"
	readelf -lW "$lib" | grep -q GNU_RELRO || fail "not linked with -z relro"
	# the loader would search every library of the process for such a name
	nm -D --undefined-only "$lib" | grep -vE '@GLIBC_|_ITM_|__gmon_start__' && fail "has undefined symbols that are not libc's"
	strip -o "$out/stripped" "$lib"
	size=$(stat -c %s "$out/stripped")
	[ "$size" -lt 1048576 ] || fail "$size bytes: not under 1 MB"
	# the one entry is frame_dummy of crtbegin.o
	readelf -dW "$lib" | grep -q 'INIT_ARRAYSZ.* 8 (bytes)' || fail "has a constructor"
fi
readelf -VW "$lib" | grep -q 'Version definition' && fail "has version nodes"
readelf -p .note.gangway "$lib" | grep -q 'gangway [0-9]' || fail "has no build note"
for link in "${soname%.*}" "$soname"; do
	[ -L "$(dirname "$lib")/$link" ] || fail "$link is not a link to the real file"
done
exit $failed
