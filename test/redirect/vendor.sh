#!/bin/sh
# Check that pass-through loads the vendor's library, although every name and path is redirected to ours:
# vendor.sh GANGWAY PROGRAMS, as build.sh makes them; the decoy is the vendor's.
gangway=$1
out=$2
unset LD_LIBRARY_PATH LD_AUDIT GANGWAY_KEEP GANGWAY_AUDIT_LOG
failed=0
expect() {
	[ "$1" = "ours 1 decoy 1 version 4711" ] || { echo "FAIL: $2: $1"; failed=1; }
}
GANGWAY_NVIDIA_LIBRARY=$out/decoy/libcuda.so.1
export GANGWAY_NVIDIA_LIBRARY
for mode in linked opened asked; do
	expect "$("$gangway" run --on nvidia -- "$out/plain/$mode" 2>&1)" "$mode, told where"
	expect "$("$gangway" run --on nvidia -- "$out/origin/$mode" 2>&1)" "$mode beside it"
done
unset GANGWAY_NVIDIA_LIBRARY
LD_LIBRARY_PATH=$out/decoy
export LD_LIBRARY_PATH
expect "$("$gangway" run --on nvidia -- "$out/rpath/linked" 2>&1)" "found by LD_LIBRARY_PATH"
exit $failed
