#!/bin/sh
# CUDA_VISIBLE_DEVICES in a client of a server with three devices: a list that names no device leaves none, and the first
# devices in order can be selected.  Run by served.sh: visible.sh PROGRAM, which prints the result of cuInit and the number
# of devices.
program=$1
failed=0
expect() { # list, output
	got=$(CUDA_VISIBLE_DEVICES="$1" "$program")
	[ "$got" = "$2" ] || { echo "FAIL: CUDA_VISIBLE_DEVICES='$1' gives '$got', not '$2'"; failed=1; }
}
expect "" "100 0"
expect 3 "100 0"
expect -1 "100 0"
expect GPU-nosuch "100 0"
expect 0 "0 1"
expect 0,1 "0 2"
expect 0,7,1 "0 1"
expect 0,1,2 "0 3"
got=$(env -u CUDA_VISIBLE_DEVICES "$program")
[ "$got" = "0 3" ] || { echo "FAIL: without CUDA_VISIBLE_DEVICES: '$got'"; failed=1; }
exit $failed
