#!/bin/sh
# Deaths: a client killed in the middle of a copy is cleaned up after within a second; a worker's death is a
# CUDA error for its client alone; the parent's death leaves running clients alone; and a kernel with a wild
# pointer hurts only its own process.
. "$(dirname "$0")/faults.sh"
serve
hold other hold
other=$held
exec 8>&9 9>&-

# A client is killed while it copies: its worker, and with it all memory, is gone within a second; on a machine
# that is busy with other things, at least once in three times.
soon=0
for i in 1 2 3; do
	hold "copier$i" copy
	worker=$(worker_of "$held")
	[ -n "$worker" ] && alive "$worker" || fail "no worker of client $held in the log"
	sleep 0.1
	kill -9 "$held"
	wait "$held" 2>/dev/null
	if until_true 1 gone "$worker"; then
		soon=$((soon + 1))
	else
		until_true 60 gone "$worker" || fail "a killed client's worker lives on"
	fi
	exec 9>&-
done
[ $soon -ge 1 ] || fail "the workers of three killed clients lived on for more than a second"

# A worker is killed: its client gets errors from everything, at once, and a new process works.
hold orphan lost
kill -9 "$(worker_of "$held")"
once || fail "a new client fails after a worker's death: $(cat "$dir/once.out")"
release
wait "$held" || fail "a client without its worker: $? $(cat "$dir/orphan.out")"
until_true 60 logged 'was ended by signal 9' || fail "a worker's death is not in the log"

# In the middle of a call, too.
hold copier4 copy
worker=$(worker_of "$held")
kill -9 "$worker"
until_true 60 gone "$held" || fail "a client hangs when its worker dies during a copy"
wait "$held"
[ $? = 1 ] || fail "a client whose worker died during a copy did not end by an error"
exec 9>&-

# And stopped before it is killed, so that the client waits when it happens.
hold orphan2 lost
worker=$(worker_of "$held")
kill -STOP "$worker"
release
sleep 0.3
alive "$held" || fail "a client whose worker is stopped has not waited"
kill -9 "$worker"
wait "$held" || fail "a waiting client without its worker: $? $(cat "$dir/orphan2.out")"

# A wild kernel: CUDA_ERROR_ILLEGAL_ADDRESS for it, nothing for the others.
if [ "$served" = cpu ]; then
	timeout 60 "$client" wild >"$dir/wild" 2>&1 || fail "a wild kernel: $? $(cat "$dir/wild")"
fi

# The parent is killed: the first client works on, a new one gets an error soon, a new server takes over.
kill -9 "$server"
wait "$server" 2>/dev/null
timeout 60 "$client" init </dev/null >"$dir/none" 2>&1 || fail "without a server cuInit does not come back"
says "$dir/none" '^100$' || fail "without a server cuInit says $(cat "$dir/none")"
spares_gone() { ! pgrep -f "gangway serve.*$dir" | grep -vx "$(worker_of "$other")" >/dev/null; }
[ "$transport" = tcp ] || until_true 60 spares_gone || fail "spares outlive their parent: $(pgrep -af "serve.*$dir")"
serve
once || fail "after a restart a client fails: $(cat "$dir/once.out")"
echo go >&8
exec 8>&-
wait "$other" || fail "an innocent client was hurt: $(cat "$dir/other.out")"
finish
