#!/bin/sh
# test.sh BUILD [ctest options]: runs the tests, prints the skipped tests with the reasons that they gave, and ends with
# ctest's own summary.
build=$1
shift
# Tests that compile CUDA programs look for nvcc and the toolkit by these names.
toolkit=$("$(dirname "$0")/toolkit.sh" "$(pwd)/build/toolkit")
if [ -n "$toolkit" ]; then
	export CUDA_HOME="$toolkit" PATH="$PATH:$toolkit/bin"
fi
out=$build/ctest.out
# Tests count memory and run in parallel: each one sees only its own use.
GANGWAY_USAGE=${GANGWAY_USAGE:-0}
export GANGWAY_USAGE
{
	ctest --test-dir "$build" --output-on-failure -j"$(nproc)" "$@"
	echo $? >"$build/ctest.status"
} 2>&1 | tee "$out"

awk '
	FNR == NR { if (/\*\*\*Skipped/) { sub(/.*Test +#[0-9]+: /, ""); skipped[$1] = 1 } next }
	/^[0-9]+\/[0-9]+ Testing: / { name = $3; inside = 0 }
	/^-----/ && name { inside = 1; next }
	/^<end of output>/ && inside {
		if (name in skipped) { sub(/^skipped?: */, "", reason); if (!(reason in names)) order[++n] = reason; names[reason] = names[reason] " " name }
		name = ""; inside = 0; reason = ""
	}
	inside && NF { reason = $0 }
	END {
		if (n) print "\nSkipped tests by reason:"
		for (i = 1; i <= n; i++) print "  " order[i] ":" names[order[i]]
	}' "$out" "$build/Testing/Temporary/LastTest.log" | fold -s -w 110
failed=$(sed -n 's/.*Test *#[0-9]*: \([^ ]*\) \.*\*\*\*\(Failed\|Timeout\|Exception\).*/\1/p' "$out" | sort -u)
[ -z "$failed" ] || { echo; echo "Failed:"; echo "$failed" | sed 's/^/  /'; }
echo
grep -E '^[0-9]+% tests passed|^Total Test time' "$out"
exit "$(cat "$build/ctest.status")"
