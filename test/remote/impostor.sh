#!/bin/sh
# A client connects only to a server that runs as root, as the client's own user, or as the owner of the socket file, and
# looks by itself only at sockets that no other user could have placed there: impostor.sh BUILD
build=$1
[ "$(id -u)" = 0 ] || { echo "skipped: only root can act as several users"; exit 77; }
as() { # uid, command
	uid=$1
	shift
	exec setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
(as 65534 true) 2>/dev/null || { echo "skipped: setpriv does not work here"; exit 77; }
work=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/gangway" "$work/gangway/lib" "$work/theirs"
cp -a "$build/bin" "$work/gangway/" && cp -a "$build/lib/gangway" "$work/gangway/lib/" || exit 1
chmod -R a+rX "$work"
chown 65534 "$work/theirs"
gangway=$work/gangway/bin/gangway socket=$work/theirs/socket

as 65534 "$gangway" serve --on null --listen "unix:$socket" 2>"$work/log" &
server=$!
tries=0
until [ -S "$socket" ]; do
	tries=$((tries + 1))
	[ $tries -lt 600 ] && kill -0 $server 2>/dev/null || { cat "$work/log"; exit 1; }
	sleep 0.1
done
chmod 0777 "$socket" # anybody may connect; the question is who wants to

status=0
fail() {
	echo "$*"
	status=1
}
reaches() { # how, environment and command that must have a device from the server
	how=$1
	shift
	before=$(grep -c connected "$work/log")
	(as 4243 env GANGWAY_TRACE=1 "$@" >"$work/out" 2>&1)
	[ "$(grep -c connected "$work/log")" -gt "$before" ] || fail "$how: no connection: $(cat "$work/out")"
}
refuses() {
	how=$1
	shift
	before=$(grep -c connected "$work/log")
	(as 4243 env GANGWAY_TRACE=1 "$@" >"$work/out" 2>&1)
	[ "$(grep -c connected "$work/log")" = "$before" ] || fail "$how: the client connected"
}
named="$gangway run --on unix:$socket $work/gangway/lib/gangway/vectoradd"
found="$gangway run $work/gangway/lib/gangway/vectoradd"

reaches "the owner of the socket serves" $named
chown 4242 "$socket"
refuses "the socket belongs to somebody else than the server" $named
grep -q "neither as root" "$work/out" || fail "no reason is given: $(cat "$work/out")"
chown 65534 "$socket"

# The name of the default socket is a link of root's, as with the packaged service.
ln -s "$socket" "$work/link"
reaches "a link of root's to a folder that only the server's user can change" env GANGWAY_SOCKET="$work/link" $found
chmod 0777 "$work/theirs"
refuses "a folder that everybody can change" env GANGWAY_SOCKET="$work/link" $found
chmod 0755 "$work/theirs"
rm "$work/link"
ln -s "$socket" "$work/theirs/link" && chown -h 65534 "$work/theirs/link"
refuses "a link that another user made" env GANGWAY_SOCKET="$work/theirs/link" $found
exit $status
