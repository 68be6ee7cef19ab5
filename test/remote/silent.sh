#!/bin/sh
# silent.sh BUILD SERVED TRANSPORT CLIENT FLOOD: 10,000 connections that send nothing take no worker, and clients still get in.
# One user, or one address, cannot take all places (--clients-per-user).
. "$(dirname "$0")/faults.sh"
flood=$5
: "${SILENT:=10000}"
count() { ls "/proc/$1/fd" | wc -l; }
serve
fds=$(($(count "$server") + 2))
mkfifo "$dir/flood.in"
"$flood" "$GANGWAY_DEVICE" "$SILENT" <"$dir/flood.in" >"$dir/flood.out" 2>&1 &
flooding=$!
exec 9>"$dir/flood.in"
until_true 120 says "$dir/flood.out" ready || fail "the flood does not start: $(cat "$dir/flood.out")"
took=
for i in 1 2 3 4 5; do
	start=$(now_ms)
	timeout 200 "$client" init </dev/null >"$dir/init.out" 2>&1 9>&-
	took="$took $(($(now_ms) - start))"
	says "$dir/init.out" '^0$' || fail "client $i fails beside $SILENT silent connections: $(cat "$dir/init.out")"
done
alive "$flooding" || fail "the flood has ended: $(cat "$dir/flood.out")"
echo "clients beside $SILENT silent connections took$took ms; the server has $(count "$server") descriptors"
[ "$(count "$server")" -le $((fds + 1100)) ] || fail "the server keeps $(count "$server") descriptors"
until_true 60 alone || fail "silent connections take workers: $(children "$server" | wc -w)"
[ "$(wc -l <"$dir/log")" -le 300 ] || fail "silent connections fill the log: $(wc -l <"$dir/log") lines"
exec 9>&-
wait "$flooding"
settled() { [ "$(children "$server" | wc -w)" -le 1 ] && [ "$(count "$server")" -le "$fds" ]; }
until_true 60 settled || fail "after the flood the server has $(count "$server") descriptors, $(children "$server" | wc -w) children"

# The limit of one user, over TCP of one address.
kill "$server"
wait "$server"
chmod 755 "$dir"
group=$(getent group 65534 | cut -d : -f 1)
serve --clients-per-user 1 --group "${group:-$(id -gn)}"
hold first hold
GANGWAY_TRACE=1 timeout 60 "$client" init </dev/null >"$dir/second" 2>&1
says "$dir/second" '^100$' || fail "a second client of the same user is not refused: $(cat "$dir/second")"
says "$dir/second" 'has 1 clients, which is the limit' || fail "the refused client gets no reason: $(cat "$dir/second")"
other="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$transport" = unix ] && [ "$(id -u)" = 0 ] && [ -n "$group" ] && $other "$client" none </dev/null >/dev/null 2>&1; then
	$other timeout 60 "$client" init </dev/null >"$dir/other" 2>&1
	says "$dir/other" '^0$' || fail "a client of another user is refused: $(cat "$dir/other")"
else
	echo "not tested with another user"
fi
release
wait "$held" || fail "the first client fails: $(cat "$dir/first.out")"
until_true 60 alone
timeout 60 "$client" init </dev/null >"$dir/third" 2>&1
says "$dir/third" '^0$' || fail "a client after the first one is refused: $(cat "$dir/third")"
finish
