#!/bin/sh
# On a machine with a GPU: does the driver clear memory between processes, and between an allocation and the next one of
# the same process?  Natively and through a server; with gangway serve --clear, no old bytes may be found.
#
#	test/gpu/cleared.sh BUILD
. "$(dirname "$0")/common.sh"
program=$build/test/gpu/gpu-cleared
vendor=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*x86-64.*=> //p' | head -n 1)
[ -n "$vendor" ] || { echo "skipped: no vendor driver found"; exit 77; }

try() { # where, verb, command prefix...: prints the findings
	where=$1 verb=$2
	shift 2
	timeout -k 5 200 "$@" "$program" "$verb" >"$out/said" 2>&1 </dev/null
	status=$?
	sed "s/^/note  $where, $verb: /" "$out/said"
	[ $status = 0 ] || { echo "FAIL  $where, $verb: status $status"; failed=1; }
}
native="env LD_LIBRARY_PATH=$(dirname "$vendor")"
for verb in fill look own; do
	try native $verb $native
done
serve unix
for verb in fill look own; do
	try served $verb "$gangway" run --on "$address" --
done
# A served client fills memory and a native process looks for the bytes, and the other way round.
try served fill "$gangway" run --on "$address" --
try native look $native
stop
SERVE="$SERVE --clear" serve unix
try "served with --clear" fill "$gangway" run --on "$address" --
for verb in look own; do
	CLEARED=1 try "served with --clear" $verb "$gangway" run --on "$address" --
done
stop
[ $failed = 0 ] && echo "ok    no old bytes with gangway serve --clear"
exit $failed
