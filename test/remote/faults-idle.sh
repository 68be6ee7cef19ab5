#!/bin/sh
# Waiting costs nothing: a client that sits there, or in cuStreamSynchronize, its worker, the parent and the spares
# use next to no processor time in two seconds; also with a long GANGWAY_SPIN_US, since spinning ends.  With one that
# is longer than the wait they do use it: the bound is what was set.
. "$(dirname "$0")/faults.sh"
ticks() { # utime and stime of processes and their threads
	for p in "$@"; do cat "/proc/$p/stat"; done | sed 's/.*) //' | awk '{n += $12 + $13} END {print n + 0}'
}
# What has just begun, a new spare say, comes to rest in its own time.
rests() {
	all="$server $(children "$server") $held"
	before=$(ticks $all)
	sleep 0.3
	[ "$all $(ticks $all)" = "$server $(children "$server") $held $before" ]
}
measure() { # what
	until_true 60 rests
	before=$(ticks $all)
	sleep 2
	used=$(($(ticks $all) - before))
	echo "$1: $used ticks of 10 ms in 2 s, $(echo $all | wc -w) processes"
}
measure_idle() {
	measure "$1"
	[ "$used" -le 6 ] || fail "$1 use $used ticks in 2 s"
}
serve
hold waits wait
measure_idle "an idle server and a waiting client"
release
wait "$held" || fail "the waiting client failed"
hold sleeps long
measure_idle "an idle server and a client in cuStreamSynchronize"
release
wait "$held" || fail "the client that waits for its stream failed"
kill "$server"
wait "$server"
GANGWAY_SPIN_US=20000
export GANGWAY_SPIN_US
serve --spin-us 50000
hold spins wait
measure_idle "the same after long spinning"
release
wait "$held" || fail "the waiting client failed"
GANGWAY_SPIN_US=10000000 # the most there may be
hold spinning long
# Who spins gives way to others: beside many it gets little time, and yet is ready to run whenever one looks.
spins() {
	cat "/proc/$held/task"/*/stat | sed 's/.*) //' | grep -q '^R' && ready=$((ready + 1))
	[ "$(ticks "$held")" -ge $((started + 10)) ] || [ $ready -ge 5 ]
}
started=$(ticks "$held") ready=0
until_true 60 spins || fail "GANGWAY_SPIN_US changes nothing: $(($(ticks "$held") - started)) ticks"
release
wait "$held" || fail "the spinning client failed"
finish
