#!/bin/sh
# Kills KILLS test programs by SIGKILL, each at another moment of its run.  No worker crashes, every worker ends, and a
# client that works all the time is not affected.
. "$(dirname "$0")/faults.sh"
shift 4
: "${KILLS:=40}"
alone_but_one() { [ "$(children "$server" | wc -w)" -le 2 ]; } # the other client's worker, and the spare
serve
hold other work
other=$held

n=0 ended=0
while [ $n -lt "$KILLS" ]; do
	for program in "$@"; do
		"$program" >/dev/null 2>&1 9>&- &
		pid=$!
		sleep "0.$(printf %03d $(((n * 37 + 11) % 300)))" # ms; not random, so that a failure is reproducible
		if kill -9 $pid 2>/dev/null; then
			ended=$((ended + 1))
		fi
		wait $pid 2>/dev/null
		n=$((n + 1))
	done
done
until_true 60 alone_but_one || fail "workers still run without a client: $(children "$server" | wc -w)"
release
wait "$other" || fail "the client that was not killed failed: $(tail -n 3 "$dir/other.out")"
echo "$n programs, $ended killed before their end; the other client made $(grep -c copied "$dir/other.out") copies meanwhile"
grep 'ended by signal\|violated the protocol\|was disconnected' "$dir/log" && fail "a worker ended abnormally"
finish
