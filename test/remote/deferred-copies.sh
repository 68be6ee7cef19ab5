#!/bin/sh
# deferred-copies.sh BUILD SERVED tcp PROGRAM: fifty copies of pageable memory behind a host function take one callback and
# one copy each, and the client posts all of them.  A driver queues only about a thousand commands in a stream.
. "$(dirname "$0")/faults.sh"
serve
timeout 60 "$gangway" run --on "$GANGWAY_DEVICE" -- env GANGWAY_STATS=1 "$client" posts >"$dir/out" 2>"$dir/err" ||
	fail "the program failed: $(cat "$dir/out" "$dir/err")"
for call in WIRE_HOST_CALL:51 WIRE_BLOCK:50; do
	awk -v call="${call%:*}" -v most="${call#*:}" '$3 == call { ok = $1 <= most && $1 >= 50 && !$2 } END { exit !ok }' "$dir/err" ||
		fail "expected 50 to ${call#*:} posted ${call%:*} frames: $(cat "$dir/err")"
done
awk '$3 == "in" && $4 == "all" { ok = $2 < 20 } END { exit !ok }' "$dir/err" || fail "more than 20 round trips: $(cat "$dir/err")"
finish
