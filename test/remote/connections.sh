#!/bin/sh
# Runs a program whose copies use several TCP connections.  connections.sh BUILD SERVED TRANSPORT PROGRAM
. "$(dirname "$0")/faults.sh"
serve
export GANGWAY_CONNECTIONS=4
# Extra connections are opened while the program runs: a short run may end before they are open.
for turn in 1 2 3 4 5 6 7 8 9 10; do
	timeout 500 "$client" >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
	until_true 60 alone
	logged ', over 4 connections' && finish
done
fail "no run of the program used 4 connections"
finish
