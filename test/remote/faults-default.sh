#!/bin/sh
# A program without GANGWAY_DEVICE finds the server on this machine, or takes the next device if no server runs.  A
# program that names a stopped server gets an error soon, and works once the server is up.
. "$(dirname "$0")/faults.sh"
export GANGWAY_SOCKET="$dir/socket"
unset GANGWAY_DEVICE
said() { GANGWAY_TRACE=1 timeout 60 "$client" init </dev/null 2>"$dir/err"; }

# No server, or only the socket file of a dead server: the program takes the next device.
[ "$(said)" = 0 ] || fail "cuInit without a server does not return 0: $(said) $(cat "$dir/err")"
"$gangway" serve --on null 2>"$dir/log" 8>&- 9>&- &
server=$!
until_true 60 listening 1 || fail "the server does not start"
logged "listening on unix:$dir/socket" || fail "the server does not listen on GANGWAY_SOCKET"
[ "$(said)" = 0 ] || fail "cuInit with a server does not return 0: $(cat "$dir/err")"
until_true 60 logged 'connected' || fail "a program without GANGWAY_DEVICE did not find the server"
slay
[ -e "$dir/socket" ] || fail "the killed server left no socket file; the next check needs one"
[ "$(said)" = 0 ] || fail "cuInit with the socket of a dead server does not return 0: $(cat "$dir/err")"
grep -q 'skipping unix:.*no server is listening' "$dir/err" || fail "the trace gives no reason for skipping the socket: $(cat "$dir/err")"

# With the address of a stopped server: an immediate error and one line from gangway run; success once the server is up.
GANGWAY_DEVICE=unix:$dir/socket
export GANGWAY_DEVICE
"$gangway" run --on "$GANGWAY_DEVICE" -- echo started >"$dir/out" 2>&1 && fail "gangway run --on the address of a dead server succeeds"
[ "$(grep -c . "$dir/out")" = 1 ] && grep -q 'no server is listening there' "$dir/out" || fail "unexpected message from gangway run: $(cat "$dir/out")"
"$gangway" run --on tcp://127.0.0.1:1 -- true 2>"$dir/out" && fail "gangway run --on a closed port succeeds"
grep -q 'no server is listening there' "$dir/out" || fail "unexpected message from gangway run: $(cat "$dir/out")"
mkfifo "$dir/in"
"$client" init <"$dir/in" >"$dir/out" 2>&1 &
held=$!
exec 9>"$dir/in"
until_true 60 says "$dir/out" '^100$' || fail "cuInit with a stopped server does not return 100: $(cat "$dir/out")"
: >"$dir/log" # remove the dead server's "listening" line
"$gangway" serve --on null 2>"$dir/log" 8>&- 9>&- &
server=$!
until_true 60 listening 1 || fail "the new server does not take over the dead server's socket"
release
wait "$held"
[ "$(tail -n 1 "$dir/out")" = 0 ] || fail "cuInit still fails in the same process after the server has started: $(cat "$dir/out")"
"$gangway" run --on "$GANGWAY_DEVICE" -- "$client" once >"$dir/out" 2>&1 || fail "gangway run --on a running server fails: $(cat "$dir/out")"
logged 'sent no hello' && fail "the check for a running server appears in its log as a client without a hello"
finish
