#!/bin/sh
# The life of the server process: the server reports why it cannot start, protects its socket and removes it, drains on
# the first SIGTERM, exits on the second, leaves no zombie, gives workers no foreign descriptors, and limits its clients.
. "$(dirname "$0")/faults.sh"

# A missing device: one line of output, exit status 1, no socket left.
GANGWAY_NVIDIA_LIBRARY=/nonexistent/libcuda.so.1 "$gangway" serve --on nvidia --listen "unix:$dir/none" 2>"$dir/err"
status=$?
if [ $status = 1 ]; then
	[ "$(grep -c . "$dir/err")" = 1 ] || fail "serve --on nvidia without a driver does not print exactly one line: $(cat "$dir/err")"
	grep -q 'cannot serve nvidia: ' "$dir/err" || fail "serve --on nvidia without a driver gives no reason: $(cat "$dir/err")"
	[ ! -e "$dir/none" ] || fail "serve --on nvidia without a driver leaves a socket behind"
else
	fail "serve --on nvidia without a driver exits with $status"
fi

serve --clients 2
if [ "$transport" = unix ]; then
	[ "$(stat -c %a "$dir/socket")" = 600 ] || fail "the mode of the socket is not 600"
	"$gangway" serve --on null --listen "unix:$dir/socket" 2>"$dir/err" && fail "a second server starts on a socket in use"
	grep -q 'another server' "$dir/err" || fail "the second server does not name the cause: $(cat "$dir/err")"
fi
# Another user can run the program, but cannot use the socket without being in its group.
somebody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
other_user=no
if [ "$transport" = unix ] && [ "$(id -u)" = 0 ] && somebody "$client" none </dev/null >/dev/null 2>&1; then
	other_user=yes
	chmod 755 "$dir"
	GANGWAY_TRACE=1 somebody timeout 60 "$client" init </dev/null >"$dir/alien" 2>&1
	says "$dir/alien" '^100$' && says "$dir/alien" 'Permission denied' || fail "another user does not get 100 and 'Permission denied': $(cat "$dir/alien")"
fi
echo "as another user: $other_user"
once || fail "a client fails: $(cat "$dir/once.out")"
kill -HUP "$server"
once || fail "a client fails after SIGHUP"

# The server refuses clients beyond its limit and tells them the reason.
until_true 60 alone || fail "workers outlive their clients"
hold first hold
first=$held
exec 8>&9
hold second hold
second=$held
GANGWAY_TRACE=1 timeout 60 "$client" init </dev/null >"$dir/third" 2>&1
says "$dir/third" '^100$' || fail "a third client is not refused: $(cat "$dir/third")"
says "$dir/third" '2 clients are connected, which is its limit' || fail "the refused client gets no reason: $(cat "$dir/third")"
until_true 60 logged 'client refused: 2 clients are connected' || fail "the log does not report the refused client"

# Workers hold only their own descriptors, no sockets of other clients.
worker=$(worker_of "$first")
[ "$transport" = tcp ] || [ -n "$worker" ] || fail "the log does not name the worker"
for w in $(children "$server"); do
	n=$(ls "/proc/$w/fd" | wc -l)
	[ "$n" -le 24 ] || fail "worker $w holds $n descriptors: $(ls -l "/proc/$w/fd")"
	ls -l "/proc/$w/fd" | grep -q 'eventpoll\|signalfd' && fail "worker $w holds the parent's descriptors"
done
[ "$(awk '/Max open files/{print ($4 == $5)}' "/proc/$server/limits")" = 1 ] || fail "the server has not raised its limit of open files"
grep -qi 'nvidia\|libgangway-soft' "/proc/$server/maps" && fail "the parent has loaded a driver"

# Drain: the server accepts no new client, connected clients continue.
kill -TERM "$server"
until_true 60 logged 'no new clients; waiting for 2' || fail "the server does not drain after SIGTERM"
[ ! -e "$dir/socket" ] || fail "the draining server has not removed its socket"
timeout 60 "$client" init </dev/null >"$dir/late" 2>&1
says "$dir/late" '^100$' || fail "a client of a draining server does not get 100: $(cat "$dir/late")"
release
wait "$second" || fail "the second client failed while the server drained: $(cat "$dir/second.out")"
alive "$server" || fail "the server did not wait for its last client"
echo go >&8
exec 8>&-
wait "$first" || fail "the first client failed while the server drained: $(cat "$dir/first.out")"
wait "$server" || fail "the drained server exits with status $?"

# A second SIGTERM ends the server and its workers at once.
serve
hold third lost
kill -TERM "$server"
until_true 60 logged 'no new clients; waiting for 1' || fail "the second server does not drain"
kill -TERM "$server"
until_true 60 gone "$server" || fail "the server still runs after a second SIGTERM"
wait "$server"
release
wait "$held" || fail "the client of the ended server failed: $(cat "$dir/third.out")"

# A new server takes over the socket of a dead one; --group gives the group access.
serve --group "$(id -gn)" --spares 3
spares() { [ "$(children "$server" | wc -w)" = 3 ]; }
until_true 60 spares || fail "expected 3 spares, found $(children "$server" | wc -w)"
[ "$transport" = tcp ] || [ "$(stat -c %a "$dir/socket")" = 660 ] || fail "the mode of the socket is not 660"
slay
if [ $other_user = yes ] && getent group 65534 >/dev/null; then
	serve --group "$(getent group 65534 | cut -d : -f 1)"
	somebody timeout 60 "$client" init </dev/null >"$dir/alien" 2>&1
	says "$dir/alien" '^0$' || fail "cuInit of a group member does not return 0: $(cat "$dir/alien")"
	slay
fi
serve
# The parent replaces a dead spare; clients are not affected.
kill -9 $(children "$server")
once || fail "a client fails after the death of the spare: $(cat "$dir/once.out")"
once || fail "a second client fails after the death of the spare: $(cat "$dir/once.out")"
no_zombie() { ! grep -l "^State:.Z" $(children "$server" | sed 's|\([0-9]*\)|/proc/\1/status|g') >/dev/null 2>&1; }
until_true 60 no_zombie || fail "the server has zombie children"
finish
