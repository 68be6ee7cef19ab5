#!/bin/sh
# Run a test on a device behind its own `gangway serve`: served.sh GANGWAY SERVED TRANSPORT COMMAND...
#
# SERVED is null or cpu, TRANSPORT is unix or tcp. COMMAND finds the device's address in DEVICE and in GANGWAY_DEVICE,
# and its exit status is the test's. The test also fails if no client connects to the server, if a worker dies, or if a
# worker does not end with its client. SERVE: further options of the server.
gangway=$1 served=$2 transport=$3
shift 3
dir=$(mktemp -d) || exit 1
: >"$dir/log"
address=unix:$dir/socket
[ "$transport" = tcp ] && address=tcp://127.0.0.1:0
XDG_CACHE_HOME=$dir/cache "$gangway" serve --on "$served" --listen "$address" $SERVE >"$dir/out" 2>"$dir/log" </dev/null &
server=$!
trap 'kill -9 $server $(cat "/proc/$server/task/$server/children" 2>/dev/null) 2>/dev/null; wait; rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*" >&2
	sed 's/^/server: /' "$dir/log" >&2
	exit 1
}
patience=600 # tenths of a second: a busy machine starts programs slowly
until DEVICE=$(sed -n 's/.*listening on //p' "$dir/log") && [ -n "$DEVICE" ]; do
	kill -0 $server 2>/dev/null || fail "the server does not start"
	[ $((patience -= 1)) -gt 0 ] || fail "the server does not listen"
	sleep 0.1
done
GANGWAY_DEVICE=$DEVICE
export DEVICE GANGWAY_DEVICE
"$@"
status=$?
[ $status -eq 77 ] && exit 77
[ $status -eq 0 ] || fail "the test returned $status"

patience=3000
kill $server # refuse new clients, exit with the last one
while kill -0 $server 2>/dev/null; do
	[ $((patience -= 1)) -gt 0 ] || fail "a worker does not end"
	sleep 0.02
done
wait $server || fail "the server returned $?"
grep -q ' connected (' "$dir/log" || fail "no client connected to the server"
if grep -q 'ended by signal\|violated the protocol\|refused\|Sanitizer\|runtime error' "$dir/log"; then
	fail "the server's log has errors"
fi
