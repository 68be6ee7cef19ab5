#!/bin/sh
# Many at once, many after another, and one that stands still: 64 clients together, CONNECTS connections, and
# a client stopped for STOPPED seconds while others work.
. "$(dirname "$0")/faults.sh"
: "${CLIENTS:=64}" "${CONNECTS:=64}" "${STOPPED:=3}"
count() { ls "/proc/$1/fd" | wc -l; }
settled() { [ "$(children "$server" | wc -w)" -le 1 ] && [ "$(count "$server")" -le "$fds" ]; }
serve
fds=$(($(count "$server") + 2))

pids=
for i in $(seq "$CLIENTS"); do
	timeout 60 "$client" once >"$dir/c$i" 2>&1 &
	pids="$pids $!"
done
for p in $pids; do
	wait "$p" || fail "one of $CLIENTS clients at once failed: $(sort "$dir"/c* | uniq | head -n 3)"
done
until_true 60 settled || fail "after $CLIENTS clients: $(children "$server" | wc -w) workers, $(count "$server") descriptors"

# A stopped client holds what is its own and stops nobody.
hold stopped copy
stopped=$held
kill -STOP "$stopped"
end=$(($(date +%s) + STOPPED))
while [ "$(date +%s)" -lt "$end" ]; do
	once || fail "a client fails beside a stopped one: $(cat "$dir/once.out")"
done
kill -CONT "$stopped"
sleep 0.3
alive "$stopped" || fail "the stopped client did not go on: $(cat "$dir/stopped.out")"
kill -9 "$stopped"
wait "$stopped" 2>/dev/null
exec 9>&-

# Connections, 16 at a time.
n=0 before=$(date +%s)
while [ $n -lt "$CONNECTS" ]; do
	pids=
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		timeout 60 "$client" init </dev/null >"$dir/i$i" 2>&1 &
		pids="$pids $!"
	done
	wait $pids || fail "connecting fails"
	grep -hv '^0$' "$dir"/i? "$dir"/i?? && fail "connection $n" && break
	n=$((n + 16))
done
echo "$n connections in $(($(date +%s) - before)) s"
until_true 60 settled || fail "after $n connections: $(children "$server" | wc -w) workers, $(count "$server") descriptors"
alive "$server" || fail "the server is gone"
finish
