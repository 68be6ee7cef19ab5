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
	[ -f "$stubs/$name" ] || fail "$stubs/$name is missing"
done
# Print for each symbol: name with version node, type, and size if the symbol is an object.
symbols() {
	readelf -W --dyn-syms "$1" | awk '$1 ~ /^[0-9]+:/ && $7 != "UND" && $5 != "LOCAL" && $8 {
		print $8, $4, $4 == "OBJECT" ? $3 : ""
	}' | sort
}
symbols "$real" >"$out/real"
symbols "$stub" >"$out/stub"
diff "$out/real" "$out/stub" >"$out/diff" || { cat "$out/diff"; fail "the symbols of $stub differ from those of $real"; }
# Drop the version node, which is a symbol, too.
sed 's/[ @].*//' "$out/stub" | grep -vxF "$soname" | sort -u >"$out/names"
sort -u "$prefix/share/gangway/$soname.exports" | diff - "$out/names" || fail "the symbols of $stub differ from $soname.exports"
readelf -dW "$stub" | grep -q "SONAME.*\[$soname\]" || fail "the SONAME of $stub is not $soname"
readelf -dW "$stub" | grep NEEDED && fail "$stub needs a library"
readelf -p .note.gangway "$stub" | grep -q 'gangway [0-9].* stub$' || fail "the build note of $stub does not say stub"

awk '$2 == "FUNC" {sub("@.*", "", $1); print $1}' "$out/stub" >"$out/functions"
"$calls" "$stub" "$out/functions" "$number" "$@" || fail "a function of $stub is missing or returns no stub error; see the lines above"
exit $failed
