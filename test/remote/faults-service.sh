#!/bin/sh
# The server as a service: sd_notify(3), SIGHUP, one log line per event, warnings about addresses that other machines can
# reach, and the messages when client and server have different versions.
. "$(dirname "$0")/faults.sh"
other_version=$5
mkfifo "$dir/notes.in"
"$client" notified "$dir/notify" <"$dir/notes.in" >"$dir/notes" &
listener=$!
exec 8>"$dir/notes.in"
until_true 60 says "$dir/notes" ready || fail "the listener does not start"
NOTIFY_SOCKET=$dir/notify
export NOTIFY_SOCKET
serve
unset NOTIFY_SOCKET
until_true 60 says "$dir/notes" '^READY=1' || fail "the server did not send READY=1: $(cat "$dir/notes")"
hold held hold
until_true 60 says "$dir/notes" '^STATUS=1 of at most' || fail "the service status does not count the client: $(cat "$dir/notes")"

# SIGHUP affects neither connected clients nor new ones.
kill -HUP "$server"
until_true 60 logged 'SIGHUP ignored: .*; 1 clients go on' || fail "the log does not report SIGHUP"
once || fail "a client fails after SIGHUP: $(cat "$dir/once.out")"
kill -TERM "$server"
until_true 60 says "$dir/notes" '^STOPPING=1' || fail "the server did not send STOPPING=1: $(cat "$dir/notes")"
release
wait "$held" || fail "a connected client fails while the server drains: $(cat "$dir/held.out")"
wait "$server" || fail "the drained server exits with status $?"
grep -v '^gangway\[[0-9]*\]: ' "$dir/log" && fail "the log has lines without the gangway[PID] prefix"
exec 8>&-
wait "$listener"

# The server listens on loopback by default, and warns about an address that other machines can reach.
listens() { # ADDRESS: the server's messages go to $dir/words
	: >"$dir/words"
	"$gangway" serve --on null --listen "$1" 2>"$dir/words" &
	server=$!
	until_true 60 says "$dir/words" 'listening on' || fail "the server does not listen on $1: $(cat "$dir/words")"
	kill "$server"
	wait "$server"
}
listens tcp://:0
says "$dir/words" 'listening on tcp://127\.0\.0\.1:' || fail "the server does not listen on 127.0.0.1 by default: $(cat "$dir/words")"
says "$dir/words" 'not encrypted.*from this machine only' || fail "the server does not say that TCP is not encrypted: $(cat "$dir/words")"
listens tcp://0.0.0.0:0
says "$dir/words" 'not encrypted.*reachable from other machines' || fail "the server does not warn about an address that other machines can reach: $(cat "$dir/words")"
grep -v '^gangway\[[0-9]*\]: ' "$dir/words" && fail "the log has lines without the gangway[PID] prefix"
listens "unix:$dir/quiet"
says "$dir/words" 'not encrypted' && fail "the server warns about a unix socket: $(cat "$dir/words")"

# Different versions: the server refuses the client, and both sides report which one to upgrade.
told() { # BUILD TEXT LOGGED: expected text in the client's output and in the log
	"$other_version" "$GANGWAY_DEVICE" "$1" >"$dir/told" 2>&1 && fail "a client of $1 is not refused"
	says "$dir/told" "$2" || fail "a client of $1 gets no advice what to upgrade: $(cat "$dir/told")"
	until_true 60 logged "client refused: .*$1.*$3" || fail "the log does not report the refused client of $1"
}
serve
told 'gangway 0.0.1' 'upgrade the client' 'upgrade the client'
told 'gangway 999.0.0' 'upgrade the server' 'upgrade the server'
once || fail "a client fails after refused clients: $(cat "$dir/once.out")"
kill "$server"
wait "$server"
"$other_version" --serve "unix:$dir/strange" 'gangway 0.0.1' >"$dir/strange.out" 2>&1 &
server=$!
until_true 60 says "$dir/strange.out" ready || fail "the old server does not start"
GANGWAY_DEVICE=unix:$dir/strange GANGWAY_TRACE=1 timeout 60 "$client" init </dev/null >"$dir/old" 2>&1
says "$dir/old" '^100$' && says "$dir/old" 'gangway 0.0.1.*upgrade the server' || fail "a client of an old server does not say what to upgrade: $(cat "$dir/old")"
finish
