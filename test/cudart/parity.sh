#!/bin/sh
# Our runtime answers as NVIDIA's does: parity.sh GANGWAY OURS PROGRAM MAJOR PACKAGE VERSION
#
# PROGRAM makes calls and prints the results; it runs on the CPU device with both runtimes. PROGRAM leaves out
# calls that crash NVIDIA's runtime. Exits with 77 if NVIDIA's wheel is not available.
gangway=$1 ours=$2 program=$3 major=$4
here=$(dirname "$0")
dir=$("$here/../helper/wheels.sh" "$5" "$6") || exit
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
said() { # folder of the runtime, output
	for part in device memory copy array stream launch graph node error; do
		LD_LIBRARY_PATH=$1 GANGWAY_EXPLAIN=0 "$gangway" run --on cpu -- "$program" "libcudart.so.$major" $part ||
			echo "$part ends with status $?"
	done >"$2"
}
said "$dir" "$tmp/theirs"
said "$ours" "$tmp/ours"
if ! diff -U3 "$tmp/theirs" "$tmp/ours" >"$tmp/differences"; then
	echo "differences between NVIDIA's runtime (-) and ours (+):"
	head -n 200 "$tmp/differences"
	exit 1
fi
[ "$(wc -l <"$tmp/ours")" -gt 1500 ] || { echo "the program printed only $(wc -l <"$tmp/ours") lines"; exit 1; }
echo "$(wc -l <"$tmp/ours") lines are the same"
