#!/bin/sh
# Check that gangway coverage agrees with doc/coverage.md and with the driver: coverage.sh GANGWAY PAGE CALLS
#
# Every call that it reports as missing on cpu returns CUDA_ERROR_NOT_SUPPORTED there.
gangway=$1 page=$2 calls=$3
lib=$("$gangway" config --libdir) || exit 1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

"$gangway" coverage >"$out/all" || fail "gangway coverage returns $?"
# | cuMemAlloc_v2, _ptds | sync | 3.2 | yes | | and cuMemAlloc_v2 sync 3.2 nvidia cpu
sed -n 's/^| \([cn][uv][A-Za-z0-9_]*\)[, _ptdsz]* | [a-z:]* | [^|]* | *\(yes\)* *| *\(yes\)* *|$/\1 cpu\2 served\3/p' "$page" >"$out/page"
awk '$4 == "nvidia" && $1 !~ /:/ {c = s = ""; for (i = 5; i <= NF; i++) {if ($i == "cpu") c = "yes"; if ($i == "served") s = "yes"}
	print $1 " cpu" c " served" s}' "$out/all" >"$out/said"
diff "$out/page" "$out/said" || fail "the command and the page differ"
[ "$(wc -l <"$out/said")" -ge 900 ] || fail "only $(wc -l <"$out/said") names"
"$gangway" coverage --totals | grep -q '^libcuda.so.1: [0-9]* names; nvidia [0-9]*, cpu [0-9]*, served [0-9]*$' || fail "--totals prints no totals of libcuda.so.1"
[ "$("$gangway" coverage cuMemAlloc_v2 | wc -l)" = 2 ] || fail "gangway coverage NAME does not print two lines"
"$gangway" coverage nonsense 2>/dev/null && fail "an unknown name is accepted"

"$gangway" coverage --missing cpu cu | awk '$1 ~ /^cu/ {print $1}' >"$out/missing"
GANGWAY_DEVICE=null "$calls" "$lib/libcuda.so.1" "$out/missing" 801 || fail "missing calls do not all return CUDA_ERROR_NOT_SUPPORTED"
exit $failed
