#!/bin/sh
# GANGWAY_STATS=1 prints the number of posted calls and of round trips for each entry point when a program ends; the
# server's log has the same sums.  stats.sh BUILD SERVED TRANSPORT PROGRAM [ARGUMENTS]
. "$(dirname "$0")/faults.sh"
shift 4
serve
timeout 60 "$gangway" run --on "$GANGWAY_DEVICE" -- env GANGWAY_STATS=1 "$client" "$@" >"$dir/out" 2>"$dir/err" ||
	fail "the program failed: $(cat "$dir/out" "$dir/err")"
grep -q ' posted *round trips *call$' "$dir/err" || fail "GANGWAY_STATS printed no table head: $(cat "$dir/err")"
grep -Eq ' 0 +[1-9][0-9]* +cuDevicePrimaryCtxRetain$' "$dir/err" || fail "the table has no round trip of cuDevicePrimaryCtxRetain: $(cat "$dir/err")"
# The last row is the sum of the others.
awk '$3 == "in" && $4 == "all" { ok = p == $1 && t == $2; next } $1 ~ /^[0-9]+$/ && NF == 3 { p += $1; t += $2 }
	END { exit !ok }' "$dir/err" || fail "the rows do not add up: $(cat "$dir/err")"
until_true 60 logged 'ended after' || fail "the log does not report the number of calls"
told=$(sed -n 's/.* and \([0-9]*\) calls, \([0-9]*\) of them answered.*/\1 \2/p' "$dir/log")
said=$(awk '$3 == "in" && $4 == "all" { print $1 + $2, $2 }' "$dir/err")
# Over TCP the last posted calls may still be unsent when the process ends.
[ "$told" = "$said" ] || { [ "$transport" = tcp ] && [ "${told#* }" = "${said#* }" ] && [ "${told% *}" -le "${said% *}" ]; } ||
	fail "calls and replies differ: the server counts $told, the client $said"
# Without GANGWAY_STATS the program prints no table.
timeout 60 "$client" "$@" 2>&1 | grep -q 'round trips' && fail "the program prints the table without GANGWAY_STATS"
finish
