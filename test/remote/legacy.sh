#!/bin/sh
# A wait after a read through the legacy stream asks nothing.  legacy.sh BUILD SERVED TRANSPORT PROGRAM
. "$(dirname "$0")/faults.sh"
serve
GANGWAY_STATS=1 timeout 200 "$client" >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
says "$dir/out" 'WIRE_COPY_DOWN' || fail "nothing was counted: $(cat "$dir/out")"
syncs=$(sed -n 's/^ *\([0-9]*\) .*WIRE_SYNC$/\1/p' "$dir/out")
[ "${syncs:-0}" -le 4 ] || fail "$syncs waits were asked for: $(cat "$dir/out")"
finish
