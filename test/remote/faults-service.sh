#!/bin/sh
# The server as a service: sd_notify(3), SIGHUP, one line an event, what it says of addresses that other machines
# can reach, and what is said to clients and of servers of another version.
. "$(dirname "$0")/faults.sh"
stranger=$5
mkfifo "$dir/notes.in"
"$client" notified "$dir/notify" <"$dir/notes.in" >"$dir/notes" &
listener=$!
exec 8>"$dir/notes.in"
until_true 60 says "$dir/notes" ready || fail "the listener does not start"
NOTIFY_SOCKET=$dir/notify
export NOTIFY_SOCKET
serve
unset NOTIFY_SOCKET
until_true 60 says "$dir/notes" '^READY=1' || fail "READY is not told: $(cat "$dir/notes")"
hold held hold
until_true 60 says "$dir/notes" '^STATUS=1 of at most' || fail "a client is not in the status: $(cat "$dir/notes")"

# SIGHUP: nothing is lost, neither who is there nor who comes.
kill -HUP "$server"
until_true 60 logged 'SIGHUP ignored: .*; 1 clients go on' || fail "SIGHUP is not in the log"
once || fail "after SIGHUP a client fails: $(cat "$dir/once.out")"
kill -TERM "$server"
until_true 60 says "$dir/notes" '^STOPPING=1' || fail "STOPPING is not told: $(cat "$dir/notes")"
release
wait "$held" || fail "a client that was there fails: $(cat "$dir/held.out")"
wait "$server" || fail "the drained server's status is $?"
grep -v '^gangway\[[0-9]*\]: ' "$dir/log" && fail "not one line an event"
exec 8>&-
wait "$listener"

# Loopback unless somebody asks for more, and then with a warning.
listens() { # address; what it says goes to $dir/words
	: >"$dir/words"
	"$gangway" serve --on null --listen "$1" 2>"$dir/words" &
	server=$!
	until_true 60 says "$dir/words" 'listening on' || fail "it does not listen on $1: $(cat "$dir/words")"
	kill "$server"
	wait "$server"
}
listens tcp://:0
says "$dir/words" 'listening on tcp://127\.0\.0\.1:' || fail "without a host it is not loopback: $(cat "$dir/words")"
says "$dir/words" 'not encrypted.*from this machine only' || fail "it does not say what tcp is: $(cat "$dir/words")"
listens tcp://0.0.0.0:0
says "$dir/words" 'not encrypted.*reachable from other machines' || fail "it does not warn: $(cat "$dir/words")"
grep -v '^gangway\[[0-9]*\]: ' "$dir/words" && fail "not one line an event"
listens "unix:$dir/quiet"
says "$dir/words" 'not encrypted' && fail "it warns of a unix socket: $(cat "$dir/words")"

# Another version, either way: refused, and both sides are told what to upgrade.
told() { # build, what to do; by a client of that build, and in the log
	"$stranger" "$GANGWAY_DEVICE" "$1" >"$dir/told" 2>&1 && fail "a client of $1 is not refused"
	says "$dir/told" "$2" || fail "a client of $1 is told: $(cat "$dir/told")"
	until_true 60 logged "client refused: .*$1.*$3" || fail "the refusal of $1 is not in the log"
}
serve
told 'gangway 0.0.1' 'upgrade the client' 'upgrade the client'
told 'gangway 999.0.0' 'upgrade the server' 'upgrade the server'
once || fail "after clients that were refused: $(cat "$dir/once.out")"
kill "$server"
wait "$server"
"$stranger" --serve "unix:$dir/strange" 'gangway 0.0.1' >"$dir/strange.out" 2>&1 &
server=$!
until_true 60 says "$dir/strange.out" ready || fail "the old server does not start"
GANGWAY_DEVICE=unix:$dir/strange GANGWAY_TRACE=1 timeout 60 "$client" init </dev/null >"$dir/old" 2>&1
says "$dir/old" '^100$' && says "$dir/old" 'gangway 0.0.1.*upgrade the server' || fail "of an old server: $(cat "$dir/old")"
finish
