#!/bin/sh
# Check an installed stub library: exports.sh PREFIX FOLDER STUBS SONAME LINKNAME CALLS NUMBER [TEXT-FUNCTION...]
#
# The stub exists under both names, exports the same symbols as the real library, with the same types, sizes and version
# nodes, and every function reports that it is a stub: by NUMBER or by a text.
prefix=$1 folder=$1/lib/gangway/$2 stubs=$1/lib/gangway/$3 soname=$4 link=$5 calls=$6 number=$7
shift 7
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
real=$folder/$soname
stub=$stubs/$soname

for name in "$soname" "lib$link.so"; do
	[ -f "$stubs/$name" ] || fail "no $stubs/$name"
done
# Name with version node, kind, and the size of objects.
symbols() {
	readelf -W --dyn-syms "$1" | awk '$1 ~ /^[0-9]+:/ && $7 != "UND" && $5 != "LOCAL" && $8 {
		print $8, $4, $4 == "OBJECT" ? $3 : ""
	}' | sort
}
symbols "$real" >"$out/real"
symbols "$stub" >"$out/stub"
diff "$out/real" "$out/stub" >"$out/diff" || { cat "$out/diff"; fail "the stub is unlike the library"; }
# (a version node is a symbol, too)
sed 's/[ @].*//' "$out/stub" | grep -vxF "$soname" | sort -u >"$out/names"
sort -u "$prefix/share/gangway/$soname.exports" | diff - "$out/names" || fail "the stub is unlike the list of exports"
readelf -dW "$stub" | grep -q "SONAME.*\[$soname\]" || fail "SONAME is not $soname"
readelf -dW "$stub" | grep NEEDED && fail "a stub needs nothing"
readelf -p .note.gangway "$stub" | grep -q 'gangway [0-9].* stub$' || fail "the build note does not say stub"

awk '$2 == "FUNC" {sub("@.*", "", $1); print $1}' "$out/stub" >"$out/functions"
"$calls" "$stub" "$out/functions" "$number" "$@" || fail "see above"
exit $failed
