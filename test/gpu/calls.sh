#!/bin/sh
# On a machine with a GPU: run those programs of test/soft, test/remote and test/cpu that use only CUDA's driver API,
# through a server. A program that fails natively with the same status (a GPU has fewer queues than some programs have
# streams that wait) is a note, not a failure.
#
#	test/gpu/calls.sh BUILD [DEVICE...]		DEVICE: unix, tcp; default both.  ONLY: program names, default all
#
# Excluded: kernels without end, programs that need two devices or a special device, programs that compile a thousand
# modules, and programs that use destroyed handles, which crash the vendor driver.
. "$(dirname "$0")/common.sh"
shift
[ $# -gt 0 ] || set -- unix tcp
vendor=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*x86-64.*=> //p' | head -n 1)
[ -n "$vendor" ] || { echo "skipped: no vendor driver found"; exit 77; }

remote="blocks captures copies enumerated events forks graphs hostmem ipc deferred_copies managed no_context objects ordered graph_copies prints resets value_waits"
api="graph-threads"
cpu="invalid-arguments waiting-thread size-overflow threads"
programs=${ONLY:-$(printf 'remote/remote-%s ' $remote; printf 'soft/api-%s ' $api; printf 'cpu/cpu-%s ' $cpu)}

try() { # where, program, command prefix...: write output and status to files
	said=$out/$(basename "$2").$1 program=$2
	shift 2
	timeout -k 5 40 "$@" "$build/test/$program" >"$said" 2>&1 </dev/null
	status=$?
	[ $status != 77 ] || status=0
}
judge() { # device, program
	if [ $status = 0 ]; then
		right=$((right + 1))
		return
	fi
	served=$status told=$said
	try native "$2" env LD_LIBRARY_PATH="$(dirname "$vendor")"
	if [ $status = $served ]; then
		echo "note  $1: $2: status $served, natively, too"
		return
	fi
	failed=1
	echo "FAIL  $1: $2: status $served, natively $status"
	head -n 12 "$told" | sed 's/^/      /'
}
# With these, more streams wait than a GPU has queues: they hang natively, and over TCP, where a server does the same.
hanging="remote/remote-deferred_copies remote/remote-value_waits"
for device; do
	serve "$device"
	right=0
	for program in $programs; do
		case "$device $hanging" in *tcp*"$program"*) continue ;; esac
		try "$device" "$program" env DEVICE="$address" GANGWAY_DEVICE="$address" "$gangway" run --on "$address" --
		judge "$device" "$program"
	done
	if grep 'ended by signal\|violated the protocol' "$out/log"; then
		echo "FAIL  $device: a worker died"
		failed=1
	fi
	echo "ok    $device: $right programs right"
	stop
done
exit $failed
