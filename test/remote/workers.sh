#!/bin/sh
# workers.sh BUILD SERVED TRANSPORT CLIENT: each worker executes the program anew and has addresses of its own; processes of
# the same user cannot read it unless the server says so; it gains no privileges; a replaced program file does not matter.
. "$(dirname "$0")/faults.sh"

# As root, the server and those who try to read its workers run as another user: root may read everything.
chmod 755 "$dir"
user=
if [ "$(id -u)" = 0 ]; then
	user="setpriv --reuid 65534 --regid 65534 --clear-groups"
	$user "$client" none </dev/null >/dev/null 2>&1 || { echo "skipped: another user cannot run the programs" && exit 77; }
	mkdir -m 777 "$dir/user"
else
	mkdir "$dir/user"
fi

# start NAME PROGRAM OPTION...: the server's process is $server, its three spares are $workers.
start() {
	name=$1
	shift
	$user "$@" --on "$served" --listen "unix:$dir/user/socket" --spares 3 2>"$dir/log" &
	server=$!
	until_true 60 three || fail "$name: there are no three workers: $(cat "$dir/log")"
	workers=$(children "$server")
}
three() { logged 'listening on' && [ "$(children "$server" | wc -w)" = 3 ] && [ "$(executed)" = 3 ]; }
executed() { for w in $(children "$server"); do tr '\0' ' ' <"/proc/$w/cmdline" | grep 'gangway worker '; done | wc -l; }
stop() {
	kill "$server"
	wait "$server"
}
client_works() { $user env "GANGWAY_DEVICE=unix:$dir/user/socket" timeout 60 "$client" init </dev/null 2>&1 | grep -q '^0$'; }
unprivileged() { grep -q "^NoNewPrivs:.1$" "/proc/$1/status"; }
# A worker that has just started is not protected yet, or does not know its settings yet.
unreadable() { ! readable "$1"; }
readable() { $user cat "/proc/$1/maps" >/dev/null 2>&1; }
address() { sed -n '/gangway$/{s/-.*//p;q}' "/proc/$1/maps"; } # of the program

start protected "$gangway" serve
for w in $workers; do
	until_true 60 unprivileged "$w" || fail "worker $w can gain privileges"
done
for p in $server $workers; do
	until_true 60 unreadable "$p" || fail "a process of the same user can read process $p"
done
client_works || fail "a client of protected workers fails"
stop

start dumpable "$gangway" serve --dumpable
fixed=$(sed -n 's/.*\(.\)....$/\1/p' "/proc/$server/personality") # 4: without randomisation, as ThreadSanitizer runs
for w in $workers; do
	until_true 60 readable "$w" || fail "--dumpable: a process of the same user cannot read worker $w"
done
if [ "$(cat /proc/sys/kernel/randomize_va_space)" != 0 ] && [ "$fixed" != 4 ]; then
	different=$(for w in $server $workers; do address "$w"; done | sort -u | wc -l)
	[ "$different" -ge 3 ] || fail "the parent and its three workers have only $different different addresses"
fi
stop

# An upgrade replaces the program's file under a running server.
mkdir "$dir/bin" && ln -s "$(cd "$build/lib" && pwd)" "$dir/lib" && cp "$gangway" "$dir/bin/gangway"
start replaced "$dir/bin/gangway" serve
printf '#!/bin/sh\necho "the wrong program" >&2\nexit 3\n' >"$dir/bin/new" && chmod 755 "$dir/bin/new" && mv "$dir/bin/new" "$dir/bin/gangway"
for i in 1 2 3 4 5 6; do
	client_works || fail "client $i after the program's file was replaced fails"
done
logged 'wrong program' && fail "a worker executed the new file"
stop

# Started by the dynamic linker, /proc/self/exe is not our program.
linker=$(readelf -l "$gangway" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)]/\1/p')
if [ -x "$linker" ] && ! nm "$gangway" 2>/dev/null | grep -q __tsan_init; then
	start linker "$linker" "$gangway" serve
	client_works || fail "a client of a server started by the dynamic linker fails"
	stop
fi
"$gangway" worker 2>"$dir/err" 3>&- && fail "gangway worker succeeds without a server"
grep -q 'only gangway serve' "$dir/err" || fail "gangway worker gives no reason: $(cat "$dir/err")"
finish
