#!/bin/sh
# A program whose copies go by several connections.  connections.sh BUILD SERVED TRANSPORT PROGRAM
. "$(dirname "$0")/faults.sh"
serve
export GANGWAY_CONNECTIONS=4
# They are opened while it runs: one that ends at once may not have seen them.
for turn in 1 2 3 4 5 6 7 8 9 10; do
	timeout 500 "$client" >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
	until_true 60 alone
	logged ', over 4 connections' && finish
done
fail "no program had more than one connection"
finish
