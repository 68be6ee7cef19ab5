#!/bin/sh
# Many clients: CLIENTS at once, CONNECTS short connections, and one client stopped for STOPPED seconds while others work.
# Afterwards the server has no more descriptors, memory, mappings or children than before.
. "$(dirname "$0")/faults.sh"
: "${CLIENTS:=64}" "${CONNECTS:=64}" "${STOPPED:=3}"
count() { ls "/proc/$1/fd" | wc -l; }
settled() { [ "$(children "$server" | wc -w)" -le 1 ] && [ "$(count "$server")" -le "$fds" ]; }
# Anonymous memory only: the page cache decides how many file pages are resident.
memory() { sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status"; } # KiB
maps() { wc -l <"/proc/$server/maps"; }
growth() { # LABEL
	echo "after $1: $(count "$server") descriptors, $(memory) KiB, $(maps) mappings, $(children "$server" | wc -w) children"
}
serve
fds=$(($(count "$server") + 2))

pids=
for i in $(seq "$CLIENTS"); do
	timeout 200 "$client" once >"$dir/c$i" 2>&1 &
	pids="$pids $!"
done
for p in $pids; do
	wait "$p" || fail "one of $CLIENTS clients at once failed: $(sort "$dir"/c* | uniq | head -n 3)"
done
until_true 60 settled || fail "after $CLIENTS clients: $(children "$server" | wc -w) workers, $(count "$server") descriptors"

# A client stopped during a copy does not block other clients, and continues after SIGCONT.
hold stopped work
stopped=$held
exec 8>&9
kill -STOP "$stopped"
others=0
end=$(($(date +%s) + STOPPED))
while [ "$(date +%s)" -lt "$end" ]; do
	once || fail "a client fails beside a stopped one: $(cat "$dir/once.out")"
	others=$((others + 1))
done
alive "$stopped" || fail "the stopped client has ended: $(cat "$dir/stopped.out")"
before=$(grep -c copied "$dir/stopped.out")
kill -CONT "$stopped"
goes_on() { [ "$(grep -c copied "$dir/stopped.out")" -gt $((before + 1)) ]; }
until_true 60 goes_on || fail "the stopped client does not continue after SIGCONT: $(cat "$dir/stopped.out")"
echo go >&8
exec 8>&- 9>&-
wait "$stopped" || fail "the stopped client failed: $(cat "$dir/stopped.out")"
echo "one client stopped for $STOPPED s; $others other clients ran meanwhile"
until_true 60 settled || fail "after a stopped client: $(children "$server" | wc -w) workers, $(count "$server") descriptors"
growth "$CLIENTS clients and a stopped one"
memory=$(memory) maps=$(maps)

# Connections, 16 at a time.
n=0 before=$(date +%s)
while [ $n -lt "$CONNECTS" ]; do
	pids=
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		timeout 200 "$client" init </dev/null >"$dir/i$i" 2>&1 &
		pids="$pids $!"
	done
	wait $pids || fail "a client fails to connect"
	grep -hv '^0$' "$dir"/i? "$dir"/i?? && fail "cuInit failed in a client after $n connections" && break
	n=$((n + 16))
done
echo "$n connections in $(($(date +%s) - before)) s"
until_true 60 settled || fail "after $n connections: $(children "$server" | wc -w) workers, $(count "$server") descriptors"
alive "$server" || fail "the server has ended"
growth "$n connections"
[ "$(memory)" -le $((memory + 1024)) ] || fail "the server's memory grows: $memory KiB, then $(memory)"
[ "$(maps)" -le $((maps + 4)) ] || fail "the server's mappings grow: $maps, then $(maps)"
finish
