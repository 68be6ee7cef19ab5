#!/bin/sh
# Idle processes use almost no processor time: an idle client or one blocked in cuStreamSynchronize, its worker, the
# parent and the spares, measured over two seconds.  The same holds with a long GANGWAY_SPIN_US, because spinning ends
# after that time.  With a GANGWAY_SPIN_US longer than the wait, the client spins all the time.
. "$(dirname "$0")/faults.sh"
ticks() { # PID...: sum of utime and stime, all threads included
	for p in "$@"; do cat "/proc/$p/stat"; done | sed 's/.*) //' | awk '{n += $12 + $13} END {print n + 0}'
}
# True once no process starts, ends or uses processor time; a new spare needs a while to become idle.
rests() {
	all="$server $(children "$server") $held"
	before=$(ticks $all)
	sleep 0.3
	[ "$all $(ticks $all)" = "$server $(children "$server") $held $before" ]
}
measure() { # LABEL
	until_true 60 rests
	before=$(ticks $all)
	sleep 2
	used=$(($(ticks $all) - before))
	echo "$1: $used ticks of 10 ms in 2 s, $(echo $all | wc -w) processes"
}
# Up to three measurements: once in a while a timer or the kernel's own work costs a process some ticks.
measure_idle() {
	for try in 1 2 3; do
		measure "$1"
		[ "$used" -gt 6 ] || return 0
	done
	fail "$1: $used ticks in 2 s, expected at most 6"
}
serve
hold waits wait
measure_idle "an idle server and a waiting client"
release
wait "$held" || fail "the waiting client failed"
hold sleeps long
measure_idle "an idle server and a client in cuStreamSynchronize"
release
wait "$held" || fail "the client in cuStreamSynchronize failed"
kill "$server"
wait "$server"
GANGWAY_SPIN_US=20000
export GANGWAY_SPIN_US
serve --spin-us 50000
hold spins wait
measure_idle "an idle server and a waiting client after long spinning"
release
wait "$held" || fail "the waiting client failed"
GANGWAY_SPIN_US=10000000 # the maximum
hold spinning long
# A spinning thread yields: on a loaded machine it gets little processor time, but is always in state R.
spins() {
	cat "/proc/$held/task"/*/stat | sed 's/.*) //' | grep -q '^R' && ready=$((ready + 1))
	[ "$(ticks "$held")" -ge $((started + 10)) ] || [ $ready -ge 5 ]
}
started=$(ticks "$held") ready=0
until_true 60 spins || fail "a client with a GANGWAY_SPIN_US of 10 s does not spin: $(($(ticks "$held") - started)) ticks"
release
wait "$held" || fail "the spinning client failed"
finish
