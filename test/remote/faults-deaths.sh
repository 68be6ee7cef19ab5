#!/bin/sh
# Killed processes.  The server cleans up at once after a client killed during a copy.  The death of a worker gives a CUDA
# error to its own client only.  The death of the parent ends all workers.  A kernel with a wild pointer
# affects only its own process.
. "$(dirname "$0")/faults.sh"
hang_up=$5 # closes the socket between a worker and its parent
alone_but_one() { [ "$(children "$server" | wc -w)" -le 2 ]; } # the other client's worker, and the spare
serve
hold other hold
other=$held
exec 8>&9 9>&-

# Kill clients during a copy.  Each worker notices at once and exits, and the exit frees its memory.  On a machine with ten other
# busy processes that takes seconds.  One exit out of ten within a second shows that neither worker nor server waits for a
# timeout; the shortest timeout is that of a heartbeat, 10 s.
quick=
took=
for i in 1 2 3 4 5 6 7 8 9 10; do
	hold "copier$i" copy
	worker=$(worker_of "$held")
	[ -n "$worker" ] && alive "$worker" || fail "the log names no worker for client $held"
	sleep 0.0$i # at another point of a copy each time
	start=$(now_ms)
	kill -9 "$held"
	while alive "$worker" && [ $(($(now_ms) - start)) -lt 60000 ]; do
		sleep 0.01
	done
	gone "$worker" || fail "the worker of a killed client still runs after 60 s"
	ms=$(($(now_ms) - start))
	took="$took $ms"
	wait "$held" 2>/dev/null
	exec 9>&-
	[ $i -lt 5 ] || [ -z "$quick" ] || break
	[ $ms -gt 1000 ] || quick=yes
done
echo "clients killed during a copy; workers gone after:$took ms"
[ -n "$quick" ] || fail "no worker ended within 1 s of its client's death"
until_true 60 alone_but_one || fail "workers still run without a client: $(children "$server")"

# Kill a worker: every call of its client fails at once, and a new client works.
hold orphan lost
kill -9 "$(worker_of "$held")"
once || fail "a new client fails after a worker's death: $(cat "$dir/once.out")"
release
wait "$held" || fail "a client whose worker was killed failed: status $? $(cat "$dir/orphan.out")"
until_true 60 logged 'was ended by signal 9' || fail "the log does not report the death of a worker"

# Kill a worker during a call.
hold unlucky copy
worker=$(worker_of "$held")
kill -9 "$worker"
until_true 60 gone "$held" || fail "a client hangs when its worker dies during a copy"
wait "$held"
[ $? = 1 ] || fail "a client whose worker died during a copy did not report an error"
exec 9>&-

# Stop the worker before the kill, so that the client is waiting at that moment.
hold orphan2 lost
worker=$(worker_of "$held")
kill -STOP "$worker"
release
sleep 0.3
alive "$held" || fail "a client did not wait for its stopped worker"
kill -9 "$worker"
wait "$held" || fail "a client that waited for a killed worker failed: status $? $(cat "$dir/orphan2.out")"

# A kernel with a wild pointer: its process gets CUDA_ERROR_ILLEGAL_ADDRESS, other clients get no error.
if [ "$served" = cpu ]; then
	timeout 60 "$client" wild >"$dir/wild" 2>&1 || fail "the client with a wild kernel failed: status $? $(cat "$dir/wild")"
fi

# The client that ran beside all of these has noticed nothing.
echo go >&8
exec 8>&-
wait "$other" || fail "a client of another worker failed: $(cat "$dir/other.out")"

# Close the socket between parent and worker.  A worker notices and ends, even if the parent does not run; the parent
# kills a worker that does not end, here because it is stopped.  Either way the client gets an error.
hold cut lost
worker=$(worker_of "$held")
if [ -z "$hang_up" ] || ! "$hang_up" "$worker" try; then
	echo "not tested: closing the socket between parent and worker"
	kill "$worker"
	release
	wait "$held"
else
	kill -STOP "$server"
	"$hang_up" "$worker" || fail "cannot close the socket of worker $worker"
	until_true 60 ended "$worker" || fail "a worker outlives its socket to the parent"
	kill -CONT "$server"
	release
	wait "$held" || fail "the client of a worker without a parent failed: status $? $(cat "$dir/cut.out")"

	hold stuck lost
	worker=$(worker_of "$held")
	kill -STOP "$worker"
	"$hang_up" "$worker" || fail "cannot close the socket of worker $worker"
	until_true 60 gone "$worker" || fail "the parent does not kill a worker that has closed its socket"
	release
	wait "$held" || fail "the client of a killed worker failed: status $? $(cat "$dir/stuck.out")"
fi

# Kill the parent: all workers end, their clients get an error, a new client too, a new server takes over the address.
hold last lost
slay
release
wait "$held" || fail "a client whose parent was killed failed: status $? $(cat "$dir/last.out")"
timeout 60 "$client" init </dev/null >"$dir/none" 2>&1 || fail "cuInit does not return without a server"
says "$dir/none" '^100$' || fail "cuInit without a server does not return 100: $(cat "$dir/none")"
serve
once || fail "a client fails after a server restart: $(cat "$dir/once.out")"
finish
