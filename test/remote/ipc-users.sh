#!/bin/sh
# ipc-users.sh BUILD SERVED TRANSPORT PROGRAM: IPC handles between clients of one and of two users (ipc_users.c).
# OPTIONS: further options of the server.
. "$(dirname "$0")/faults.sh"
if [ "$transport" = tcp ]; then
	serve
	"$client" tcp || fail "$client returned $?"
	finish
fi
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
gid=$(getent group daemon | cut -d: -f3)
[ -n "$gid" ] || { echo "there is no group daemon"; exit 77; }
chmod 755 "$dir"
serve --group daemon $OPTIONS
"$client" unix "$gid" || fail "$client returned $?"
logged 'malformed\|unknown type' && fail "the parent has killed a worker"
finish
