#!/bin/sh
# On a machine with a GPU: the programs of test/soft, test/remote and test/cpu that see only CUDA's driver API, natively
# and served.  What a program finds right natively it finds right through a server; what it does not find right natively
# is said, too: there a test expects what the vendor's driver does not do.
#
#	test/gpu/calls.sh BUILD [DEVICE...]		DEVICE: unix, tcp; both unless told.  ONLY: names, else all
#
# Not among them: kernels without end, and programs that want two devices, or one that they have set up.
. "$(dirname "$0")/common.sh"
shift
[ $# -gt 0 ] || set -- unix tcp
vendor=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*x86-64.*=> //p' | head -n 1)
[ -n "$vendor" ] || { echo "skipped: no vendor's libcuda.so.1"; exit 77; }

remote="blocks code copies endings events forks graphs hostmem ipc managed objects ordered pageable prints resets values"
api="arrays graph-capture graph-explicit graph-threads graph-update hostmem ipc pools streams vmm"
cpu="ended handles hostile late own-thread shapes threads"
programs=${ONLY:-$(printf 'remote/remote-%s ' $remote; printf 'soft/api-%s ' $api; printf 'cpu/cpu-%s ' $cpu)}

try() { # where, program, command before it...: what it says and its status, in files
	said=$out/$(basename "$2").$1 program=$2
	shift 2
	timeout -k 5 60 "$@" "$build/test/$program" >"$said" 2>&1 </dev/null
	status=$?
	[ $status = 77 ] && status=0
	echo $status >"$said.status"
}
judge() { # device, program: against what it did natively
	native=$out/$(basename "$2").native
	natively=$(cat "$native.status")
	if [ $status = 0 ]; then
		right=$((right + 1))
		return
	fi
	if [ "$natively" != 0 ] && cmp -s "$native" "$said"; then
		echo "same  $1: $2: as natively"
		return
	fi
	[ "$natively" = 0 ] && how=FAIL failed=1 || how=note
	echo "$how  $1: $2: status $status, natively $natively"
	diff "$native" "$said" | head -n 12 | sed 's/^/      /'
}
for program in $programs; do
	try native "$program" env LD_LIBRARY_PATH="$(dirname "$vendor")"
	[ $status = 0 ] && continue
	echo "note  natively: $program: status $status"
	head -n 8 "$said" | sed 's/^/      /'
done
for device; do
	serve "$device"
	right=0
	for program in $programs; do
		try "$device" "$program" env DEVICE="$address" GANGWAY_DEVICE="$address" "$gangway" run --on "$address" --
		judge "$device" "$program"
	done
	if grep 'ended by signal\|broke the rules' "$out/log"; then
		echo "FAIL  $device: a worker died"
		failed=1
	fi
	echo "ok    $device: $right programs right"
	stop
done
exit $failed
