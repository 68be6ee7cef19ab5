#!/bin/sh
# A program that names no device finds the server that runs here; where none runs it goes on to the next
# device. One that names a server which is down gets an error, soon, and works once the server is up.
. "$(dirname "$0")/faults.sh"
export GANGWAY_SOCKET="$dir/socket"
unset GANGWAY_DEVICE
said() { GANGWAY_TRACE=1 timeout 60 "$client" init </dev/null 2>"$dir/err"; }

# Nobody there, or only the file that a dead server left: the next device.
[ "$(said)" = 0 ] || fail "without a server: $(said) $(cat "$dir/err")"
"$gangway" serve --on null 2>"$dir/log" 8>&- 9>&- &
server=$!
until_true 60 listening 1 || fail "the server does not start"
logged "listening on unix:$dir/socket" || fail "GANGWAY_SOCKET is not where it listens"
[ "$(said)" = 0 ] || fail "with a server: $(cat "$dir/err")"
until_true 60 logged 'connected' || fail "a program without GANGWAY_DEVICE did not find the server"
slay
[ -e "$dir/socket" ] || fail "the dead server left no socket: this test tests nothing"
[ "$(said)" = 0 ] || fail "with a dead server's socket: $(cat "$dir/err")"
grep -q 'skipping unix:.*no server is listening' "$dir/err" || fail "the trace does not say why: $(cat "$dir/err")"

# By name: an error at once, one line from gangway run, and it works when the server is there.
GANGWAY_DEVICE=unix:$dir/socket
export GANGWAY_DEVICE
"$gangway" run --on "$GANGWAY_DEVICE" -- echo started >"$dir/out" 2>&1 && fail "run --on a dead server succeeds"
[ "$(grep -c . "$dir/out")" = 1 ] && grep -q 'no server is listening there' "$dir/out" || fail "run says: $(cat "$dir/out")"
"$gangway" run --on tcp://127.0.0.1:1 -- true 2>"$dir/out" && fail "run --on a closed port succeeds"
grep -q 'no server is listening there' "$dir/out" || fail "run says: $(cat "$dir/out")"
mkfifo "$dir/in"
"$client" init <"$dir/in" >"$dir/out" 2>&1 &
held=$!
exec 9>"$dir/in"
until_true 60 says "$dir/out" '^100$' || fail "a server that is down: $(cat "$dir/out")"
: >"$dir/log" # the dead one's "listening" is not this one's
"$gangway" serve --on null 2>"$dir/log" 8>&- 9>&- &
server=$!
until_true 60 listening 1 || fail "the server does not take the dead one's socket"
release
wait "$held"
[ "$(tail -n 1 "$dir/out")" = 0 ] || fail "the same process, once the server is up: $(cat "$dir/out")"
"$gangway" run --on "$GANGWAY_DEVICE" -- "$client" once >"$dir/out" 2>&1 || fail "run --on a server: $(cat "$dir/out")"
logged 'sent no hello' && fail "looking whether a server is there disturbs it"
finish
