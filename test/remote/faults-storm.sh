#!/bin/sh
# Killed anywhere: programs that use all there is, KILLS of them, each ended by SIGKILL at some moment of its life.
# No worker dies of it, none stays, and one who was there all the time notices nothing.
. "$(dirname "$0")/faults.sh"
shift 4
: "${KILLS:=40}"
alone_but_one() { [ "$(children "$server" | wc -w)" -le 2 ]; } # the other client's, and the spare
serve
hold other work
other=$held

n=0 ended=0
while [ $n -lt "$KILLS" ]; do
	for program in "$@"; do
		"$program" >/dev/null 2>&1 9>&- &
		pid=$!
		sleep "0.$(printf %03d $(((n * 37 + 11) % 300)))" # ms: no chance in it, so that it can be done again
		if kill -9 $pid 2>/dev/null; then
			ended=$((ended + 1))
		fi
		wait $pid 2>/dev/null
		n=$((n + 1))
	done
done
until_true 60 alone_but_one || fail "workers stay: $(children "$server" | wc -w)"
release
wait "$other" || fail "an innocent client was hurt: $(tail -n 3 "$dir/other.out")"
echo "$n programs, $ended of them killed on the way; $(grep -c copied "$dir/other.out") copies of one beside them"
grep 'ended by signal\|violated the protocol\|was disconnected' "$dir/log" && fail "workers did not just end"
finish
