#!/bin/sh
# The server as a process: it says why it cannot start, keeps its socket to itself and removes it, drains on
# SIGTERM, ends on the second, leaves no zombie, gives workers no foreign descriptors, and counts its clients.
. "$(dirname "$0")/faults.sh"

# A device that is not there: one line, exit status 1, no socket left.
GANGWAY_NVIDIA_LIBRARY=/nonexistent/libcuda.so.1 "$gangway" serve --on nvidia --listen "unix:$dir/none" 2>"$dir/err"
status=$?
if [ $status = 1 ]; then
	[ "$(grep -c . "$dir/err")" = 1 ] || fail "more than one line: $(cat "$dir/err")"
	grep -q 'cannot serve nvidia: ' "$dir/err" || fail "it does not say why: $(cat "$dir/err")"
	[ ! -e "$dir/none" ] || fail "a socket was left"
else
	fail "serve --on nvidia without a driver exits with $status"
fi

serve --clients 2
if [ "$transport" = unix ]; then
	[ "$(stat -c %a "$dir/socket")" = 600 ] || fail "the socket is not its owner's alone"
	"$gangway" serve --on null --listen "unix:$dir/socket" 2>"$dir/err" && fail "two servers on one socket"
	grep -q 'another server' "$dir/err" || fail "the second server says: $(cat "$dir/err")"
fi
# Somebody else, who may run the program, may not use the socket unless the group says so.
somebody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
other_user=no
if [ "$transport" = unix ] && [ "$(id -u)" = 0 ] && somebody "$client" none </dev/null >/dev/null 2>&1; then
	other_user=yes
	chmod 755 "$dir"
	GANGWAY_TRACE=1 somebody timeout 60 "$client" init </dev/null >"$dir/alien" 2>&1
	says "$dir/alien" '^100$' && says "$dir/alien" 'Permission denied' || fail "somebody else gets: $(cat "$dir/alien")"
fi
echo "as another user: $other_user"
once || fail "a client fails: $(cat "$dir/once.out")"
kill -HUP "$server"
once || fail "after SIGHUP a client fails"

# No more than it should take, and the others are told why.
until_true 60 alone || fail "workers outlive their clients"
hold first hold
first=$held
exec 8>&9
hold second hold
second=$held
GANGWAY_TRACE=1 timeout 60 "$client" init </dev/null >"$dir/third" 2>&1
says "$dir/third" '^100$' || fail "a third client is not refused: $(cat "$dir/third")"
says "$dir/third" '2 clients are connected, which is its limit' || fail "it is not told why: $(cat "$dir/third")"
until_true 60 logged 'client refused: 2 clients are connected' || fail "the refusal is not in the log"

# Workers hold what they need: the sockets of others are not among it.
worker=$(worker_of "$first")
[ "$transport" = tcp ] || [ -n "$worker" ] || fail "the log does not name the worker"
for w in $(children "$server"); do
	n=$(ls "/proc/$w/fd" | wc -l)
	[ "$n" -le 24 ] || fail "worker $w holds $n descriptors: $(ls -l "/proc/$w/fd")"
	ls -l "/proc/$w/fd" | grep -q 'eventpoll\|signalfd' && fail "worker $w holds the parent's descriptors"
done
[ "$(awk '/Max open files/{print ($4 == $5)}' "/proc/$server/limits")" = 1 ] || fail "the limit of open files is not raised"
grep -qi 'nvidia\|libgangway-soft' "/proc/$server/maps" && fail "the parent has loaded a driver"

# Drained: nobody new, those inside go on.
kill -TERM "$server"
until_true 60 logged 'no new clients; waiting for 2' || fail "SIGTERM is not heard"
[ ! -e "$dir/socket" ] || fail "the socket outlives the server"
timeout 60 "$client" init </dev/null >"$dir/late" 2>&1
says "$dir/late" '^100$' || fail "a late client gets $(cat "$dir/late")"
release
wait "$second" || fail "the second client failed while the server drained: $(cat "$dir/second.out")"
alive "$server" || fail "the server did not wait for its last client"
echo go >&8
exec 8>&-
wait "$first" || fail "the first client failed while the server drained: $(cat "$dir/first.out")"
wait "$server" || fail "the drained server's status is $?"

# Asked twice, it ends at once, and with it the workers.
serve
hold third lost
kill -TERM "$server"
until_true 60 logged 'no new clients; waiting for 1' || fail "the second server does not drain"
kill -TERM "$server"
until_true 60 gone "$server" || fail "asked twice, the server goes on"
wait "$server"
release
wait "$held" || fail "the client of a server that ended: $(cat "$dir/third.out")"

# A socket that a dead server left is taken over; a group's socket is the group's.
serve --group "$(id -gn)" --spares 3
spares() { [ "$(children "$server" | wc -w)" = 3 ]; }
until_true 60 spares || fail "there are $(children "$server" | wc -w) spares, not 3"
[ "$transport" = tcp ] || [ "$(stat -c %a "$dir/socket")" = 660 ] || fail "the group cannot use the socket"
slay
if [ $other_user = yes ] && getent group 65534 >/dev/null; then
	serve --group "$(getent group 65534 | cut -d : -f 1)"
	somebody timeout 60 "$client" init </dev/null >"$dir/alien" 2>&1
	says "$dir/alien" '^0$' || fail "a member of the group gets: $(cat "$dir/alien")"
	slay
fi
serve
# A spare that dies is replaced, and nobody notices.
kill -9 $(children "$server")
once || fail "after the spare's death a client fails: $(cat "$dir/once.out")"
once || fail "and another one: $(cat "$dir/once.out")"
no_zombie() { ! grep -l "^State:.Z" $(children "$server" | sed 's|\([0-9]*\)|/proc/\1/status|g') >/dev/null 2>&1; }
until_true 60 no_zombie || fail "zombies"
finish
