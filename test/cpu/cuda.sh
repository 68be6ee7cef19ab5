#!/bin/sh
# Build a CUDA program with nvcc and run it on a device: cuda.sh GANGWAY FOLDER SOURCE.cu [ARGUMENTS]
#
# The program goes to FOLDER and is built again only if the source is newer. Exits with 77 without nvcc. DEVICE is the
# device; default cpu.
gangway=$1
source=$3
program=$2/$(basename "$source" .cu)
shift 3
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || { echo "skipped: no nvcc to build $program with"; exit 77; }
if [ -z "$(find "$program" -newer "$source" 2>/dev/null)" ]; then
	"$nvcc" -arch=sm_80 -std=c++17 -I "$(dirname "$0")/../.." -Wno-deprecated-gpu-targets -o "$program.$$" "$source" || exit 1
	mv "$program.$$" "$program"
fi
exec "$gangway" run --on "${DEVICE:-cpu}" -- "$program" "$@"
