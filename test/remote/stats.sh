#!/bin/sh
# GANGWAY_STATS=1 prints at a program's end how many calls of each kind went to the server, and how many were
# waited for: the same numbers that the server's log has.  stats.sh BUILD SERVED TRANSPORT PROGRAM [ARGUMENTS]
. "$(dirname "$0")/faults.sh"
shift 4
serve
timeout 60 "$gangway" run --on "$GANGWAY_DEVICE" -- env GANGWAY_STATS=1 "$client" "$@" >"$dir/out" 2>"$dir/err" ||
	fail "the program failed: $(cat "$dir/out" "$dir/err")"
grep -q ' posted *round trips *call$' "$dir/err" || fail "no head: $(cat "$dir/err")"
grep -Eq ' 0 +[1-9][0-9]* +cuDevicePrimaryCtxRetain$' "$dir/err" || fail "no round trip for a context: $(cat "$dir/err")"
# The rows add up to the last one.
awk '$3 == "in" && $4 == "all" { ok = p == $1 && t == $2; next } $1 ~ /^[0-9]+$/ && NF == 3 { p += $1; t += $2 }
	END { exit !ok }' "$dir/err" || fail "the rows do not add up: $(cat "$dir/err")"
until_true 60 logged 'ended after' || fail "the server does not say how many there were"
told=$(sed -n 's/.* and \([0-9]*\) calls, \([0-9]*\) of them answered.*/\1 \2/p' "$dir/log")
said=$(awk '$3 == "in" && $4 == "all" { print $1 + $2, $2 }' "$dir/err")
# Over a network what was posted last may not have left when the process ended.
[ "$told" = "$said" ] || { [ "$transport" = tcp ] && [ "${told#* }" = "${said#* }" ] && [ "${told% *}" -le "${said% *}" ]; } ||
	fail "the server has $told calls and answers, the client $said"
# Nobody asked: nothing is printed.
timeout 60 "$client" "$@" 2>&1 | grep -q 'round trips' && fail "it is printed to those who did not ask"
finish
