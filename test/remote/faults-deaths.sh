#!/bin/sh
# Deaths: a client killed in the middle of a copy is cleaned up after at once; a worker's death is a
# CUDA error for its client alone; the parent's death leaves running clients alone; and a kernel with a wild
# pointer hurts only its own process.
. "$(dirname "$0")/faults.sh"
# Ahead of whatever else the machine does, where we may: the kernel needs some milliseconds to free a process's memory,
# and beside ten others that want the processor these milliseconds take a second.
was=$(nice)
ahead() { renice -n "$1" -p $$ $server >/dev/null 2>&1; }
ahead -20 && quick=${QUICK:-5} || quick=1
alone_but_one() { [ "$(children "$server" | wc -w)" -le 2 ]; } # the other client's, and the spare
serve
hold other hold
other=$held
exec 8>&9 9>&-

# Clients are killed while they copy.  Their workers notice at once and end, and with the process all its memory is
# back; the time is the kernel's, which frees what both had.  Where the machine may let us wait, one of them is enough to
# show that nothing of ours does.
took=
for i in 1 2 3 4 5; do
	hold "copier$i" copy
	worker=$(worker_of "$held")
	[ -n "$worker" ] && alive "$worker" || fail "no worker of client $held in the log"
	sleep 0.0$i # somewhere else in a copy each time
	start=$(now_ms)
	kill -9 "$held"
	while alive "$worker" && [ $(($(now_ms) - start)) -lt 60000 ]; do
		sleep 0.01
	done
	gone "$worker" || fail "a killed client's worker lives on"
	ms=$(($(now_ms) - start))
	took="$took $ms"
	[ $ms -gt 1000 ] || quick=$((quick - 1))
	wait "$held" 2>/dev/null
	exec 9>&-
done
echo "killed in a copy, all memory back after:$took ms"
[ $quick -le 0 ] || fail "of five killed clients $quick too few were gone within a second"
ahead "$was"
until_true 60 alone_but_one || fail "workers are left: $(children "$server")"

# A worker is killed: its client gets errors from everything, at once, and a new process works.
hold orphan lost
kill -9 "$(worker_of "$held")"
once || fail "a new client fails after a worker's death: $(cat "$dir/once.out")"
release
wait "$held" || fail "a client without its worker: $? $(cat "$dir/orphan.out")"
until_true 60 logged 'was ended by signal 9' || fail "a worker's death is not in the log"

# In the middle of a call, too.
hold unlucky copy
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
slay "$(worker_of "$other")"
timeout 60 "$client" init </dev/null >"$dir/none" 2>&1 || fail "without a server cuInit does not come back"
says "$dir/none" '^100$' || fail "without a server cuInit says $(cat "$dir/none")"
serve
once || fail "after a restart a client fails: $(cat "$dir/once.out")"
echo go >&8
exec 8>&-
wait "$other" || fail "an innocent client was hurt: $(cat "$dir/other.out")"
finish
