#!/bin/sh
# Waiting costs nothing: a client that sits there, its worker, the parent and the spares use next to no
# processor time in two seconds; also with a long GANGWAY_SPIN_US, since spinning ends.
. "$(dirname "$0")/faults.sh"
ticks() { # utime and stime of processes and their threads
	for p in "$@"; do cat "/proc/$p/stat"; done | sed 's/.*) //' | awk '{n += $12 + $13} END {print n + 0}'
}
measure() { # what
	sleep 0.3
	all="$server $(children "$server") $held"
	before=$(ticks $all)
	sleep 2
	used=$(($(ticks $all) - before))
	echo "$1: $used ticks of 10 ms in 2 s, $(echo $all | wc -w) processes"
	[ "$used" -le 6 ] || fail "$1 use $used ticks in 2 s"
}
serve
hold waits wait
measure "an idle server and a waiting client"
release
wait "$held" || fail "the waiting client failed"
kill "$server"
wait "$server"
GANGWAY_SPIN_US=20000
export GANGWAY_SPIN_US
serve --spin-us 50000
hold spins wait
measure "the same after long spinning"
release
wait "$held" || fail "the waiting client failed"
finish
