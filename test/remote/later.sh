#!/bin/sh
# later.sh BUILD SERVED tcp PROGRAM: fifty copies of memory that only the client sees, behind a function, are a function
# and a copy each, and nothing of them is waited for.  A driver lets about a thousand things of a stream wait.
. "$(dirname "$0")/faults.sh"
serve
timeout 60 "$gangway" run --on "$GANGWAY_DEVICE" -- env GANGWAY_STATS=1 "$client" posts >"$dir/out" 2>"$dir/err" ||
	fail "the program failed: $(cat "$dir/out" "$dir/err")"
for call in WIRE_HOST_CALL:51 WIRE_BLOCK:50; do
	awk -v call="${call%:*}" -v most="${call#*:}" '$3 == call { ok = $1 <= most && $1 >= 50 && !$2 } END { exit !ok }' "$dir/err" ||
		fail "not as many as there should be: $call: $(cat "$dir/err")"
done
awk '$3 == "in" && $4 == "all" { ok = $2 < 20 } END { exit !ok }' "$dir/err" || fail "too much is waited for: $(cat "$dir/err")"
finish
