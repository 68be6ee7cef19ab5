#!/bin/sh
# Build a program of this folder (CMake builds process-*) and run it on a device: run.sh GANGWAY FOLDER PROGRAM [ARGUMENTS]
#
# DEVICE is the device; default null. On null, the programs compare their launches with the log of the device. With
# EXPECT_RESULTS=1, for devices that run kernels, the programs check the results of their kernels.
gangway=$1
out=$2
program=$3
shift 3
here=$(dirname "$0")
[ "${program#process-}" != "$program" ] || sh "$here/build.sh" "$program" "$out" || exit
if [ "${DEVICE:-null}" = null ]; then
	GANGWAY_NULL_LOG=$(mktemp) || exit 1
	export GANGWAY_NULL_LOG
	trap 'rm -f "$GANGWAY_NULL_LOG"' EXIT
fi
# Append the folder of the toolkit's shared runtime.
for dir in "${CUDA_HOME:-/usr/local/cuda}/lib64" "$(dirname "$(readlink -f "$(command -v nvcc || echo /)")")/../lib64"; do
	[ -d "$dir" ] && LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$dir
done
export LD_LIBRARY_PATH
"$gangway" run --on "${DEVICE:-null}" -- "$out/$program" "$@"
