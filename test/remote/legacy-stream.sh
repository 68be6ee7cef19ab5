#!/bin/sh
# A wait behind a copy down through the legacy stream posts nothing.  legacy-stream.sh BUILD SERVED TRANSPORT PROGRAM
. "$(dirname "$0")/faults.sh"
serve
GANGWAY_STATS=1 timeout 200 "$client" >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
says "$dir/out" 'WIRE_COPY_DOWN' || fail "GANGWAY_STATS printed no counts: $(cat "$dir/out")"
syncs=$(sed -n 's/^ *\([0-9]*\) .*WIRE_SYNC$/\1/p' "$dir/out")
[ "${syncs:-0}" -le 4 ] || fail "$syncs WIRE_SYNC frames were posted, expected at most 4: $(cat "$dir/out")"
finish
