#!/bin/sh
# Check that --on nvidia loads the vendor driver, although every name and path is redirected: vendor.sh GANGWAY PROGRAMS
#
# PROGRAMS is the output folder of build.sh. The decoy stands in for the vendor driver.
gangway=$1
out=$2
unset LD_LIBRARY_PATH LD_AUDIT GANGWAY_KEEP GANGWAY_AUDIT_LOG
failed=0
expect() { # output, case
	[ "$1" = "ours 1 decoy 1 version 4711" ] || { echo "FAIL: $2: got: $1; expected: ours 1 decoy 1 version 4711"; failed=1; }
}
GANGWAY_NVIDIA_LIBRARY=$out/decoy/libcuda.so.1
export GANGWAY_NVIDIA_LIBRARY
for mode in linked opened asked; do
	expect "$("$gangway" run --on nvidia -- "$out/plain/$mode" 2>&1)" "$mode, path in GANGWAY_NVIDIA_LIBRARY"
	expect "$("$gangway" run --on nvidia -- "$out/origin/$mode" 2>&1)" "$mode, decoy in the folder of the program"
done
unset GANGWAY_NVIDIA_LIBRARY
LD_LIBRARY_PATH=$out/decoy
export LD_LIBRARY_PATH
expect "$("$gangway" run --on nvidia -- "$out/rpath/linked" 2>&1)" "linked, decoy in LD_LIBRARY_PATH"
exit $failed
