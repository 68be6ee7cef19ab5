#!/bin/sh
# A process goes on after the death of its worker (renew.c): renew.sh BUILD SERVED TRANSPORT PROGRAM
. "$(dirname "$0")/faults.sh"
serve
address=$GANGWAY_DEVICE
timeout 240 "$client" "$dir/log" "$server" "$dir/restart" &
program=$!
# The program kills the server at its end, and asks for another one at the same address.
until [ -e "$dir/restart" ] || gone "$program"; do
	sleep 0.1
done
if [ -e "$dir/restart" ]; then
	"$gangway" serve --on "$served" --listen "$address" 2>>"$dir/log" &
	server=$!
fi
wait "$program" || fail "the program failed"
finish
