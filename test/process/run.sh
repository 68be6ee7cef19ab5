#!/bin/sh
# Builds a program of this folder (process-*: CMake has done so) and runs it on a device: run.sh GANGWAY FOLDER PROGRAM [ARGUMENTS].
#
# DEVICE (null without it) says which.  On null the launches are compared with what it recorded; set
# EXPECT_RESULTS=1 where kernels really run, and the programs compare what they computed.
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
# Where the shared runtime of the toolkit lies, behind ours.
for dir in "${CUDA_HOME:-/usr/local/cuda}/lib64" "$(dirname "$(readlink -f "$(command -v nvcc || echo /)")")/../lib64"; do
	[ -d "$dir" ] && LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$dir
done
export LD_LIBRARY_PATH
"$gangway" run --on "${DEVICE:-null}" -- "$out/$program" "$@"
