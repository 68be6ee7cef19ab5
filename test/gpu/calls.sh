#!/bin/sh
# On a machine with a GPU: the programs of test/soft, test/remote and test/cpu that see only CUDA's driver API, natively
# and served.  What a program finds right natively it finds right through a server; what it does not find right natively
# is said, too: there a test expects what the vendor's driver does not do.
#
#	test/gpu/calls.sh BUILD [DEVICE...]		DEVICE: unix, tcp; both unless told.  ONLY: names, else all
#
# Not among them: kernels without end, and programs that want two devices, or one that they have set up.
build=$(cd "${1:?which build folder?}" && pwd)
shift
[ $# -gt 0 ] || set -- unix tcp
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d) || exit 1
gangway=$build/bin/gangway
. "$here/server.sh"
trap 'stop; rm -rf "$out"' EXIT
failed=0
vendor=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*x86-64.*=> //p' | head -n 1)
[ -n "$vendor" ] || { echo "skipped: no vendor's libcuda.so.1"; exit 77; }
vendor=$(dirname "$vendor")

remote="blocks code copies endings events forks graphs hostmem ipc managed objects ordered pageable prints resets values"
api="arrays graph-capture graph-explicit graph-threads graph-update hostmem ipc pools streams vmm"
cpu="ended handles hostile late own-thread shapes threads"
programs=${ONLY:-$(printf 'remote/remote-%s ' $remote; printf 'soft/api-%s ' $api; printf 'cpu/cpu-%s ' $cpu)}

status_of() { # where, program, command before it...
	where=$1 program=$2
	shift 2
	timeout -k 5 60 "$@" "$build/test/$program" >"$out/said" 2>&1 </dev/null
	status=$?
	cp "$out/said" "$out/$(basename "$program").$where"
	[ $status = 77 ] && status=0
}
for program in $programs; do
	status_of native "$program" env LD_LIBRARY_PATH="$vendor"
	eval "$(basename "$program" | tr - _)=$status"
	[ $status = 0 ] && continue
	echo "note  natively: $program: status $status"
	head -n 8 "$out/said" | sed 's/^/      /'
done
for device; do
	[ "$device" = unix ] && serve "unix:$out/socket"
	[ "$device" = tcp ] && serve tcp://127.0.0.1:0
	right=0
	for program in $programs; do
		eval "natively=\$$(basename "$program" | tr - _)"
		export DEVICE="$address" GANGWAY_DEVICE="$address"
		status_of "$device" "$program" "$gangway" run --on "$address" --
		unset DEVICE GANGWAY_DEVICE
		name=$(basename "$program")
		if [ $status = 0 ]; then
			right=$((right + 1))
		elif [ "$natively" != 0 ] && cmp -s "$out/$name.native" "$out/$name.$device"; then
			echo "same  $device: $program: as natively"
		else
			[ "$natively" = 0 ] && failed=1
			[ "$natively" = 0 ] && how=FAIL || how=note
			echo "$how  $device: $program: status $status, natively $natively"
			diff "$out/$name.native" "$out/$name.$device" | head -n 12 | sed 's/^/      /'
		fi
	done
	if grep -q 'ended by signal\|broke the rules' "$out/log"; then
		echo "FAIL  $device: a worker died"
		grep 'ended by signal\|broke the rules' "$out/log" | head -n 5
		failed=1
	fi
	echo "ok    $device: $right programs right"
	stop
done
exit $failed
