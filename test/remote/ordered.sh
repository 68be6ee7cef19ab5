#!/bin/sh
# Allocations that change nothing are not sent.  ordered.sh BUILD SERVED TRANSPORT PROGRAM
. "$(dirname "$0")/faults.sh"
serve
GANGWAY_STATS=1 timeout 200 "$client" counted >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
asked=$(sed -n 's/^ *[0-9]* *\([0-9]*\)  cuMemAllocAsync$/\1/p' "$dir/out")
[ "${asked:-0}" -ge 1 ] && [ "$asked" -le 2 ] || fail "${asked:-no} allocations were asked for: $(cat "$dir/out")"
finish
