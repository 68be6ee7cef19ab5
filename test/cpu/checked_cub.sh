#!/bin/sh
# The checked mode of a program that nvcc builds: checked_cub.sh GANGWAY FOLDER SOURCE.cu
gangway=$1 source=$3
program=$2/$(basename "$source" .cu)
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || { echo "skipped: no nvcc to build $program with"; exit 77; }
unset GANGWAY_DEVICE GANGWAY_CHECK
if [ -z "$(find "$program" -newer "$source" 2>/dev/null)" ]; then
	"$nvcc" -lineinfo -arch=compute_80 -std=c++17 -Wno-deprecated-gpu-targets -o "$program.$$" "$source" || exit 1
	mv "$program.$$" "$program"
fi
said=$("$gangway" run --check=all -- "$program" 2>&1) || { echo "FAIL: status $?: $said"; exit 1; }
[ "$said" = 'gangway check: no errors' ] || { echo "FAIL: $said"; exit 1; }
said=$("$gangway" run --check -- "$program" broken 2>&1)
status=$?
case $status/$said in
86/*'invalid write of 4 bytes in global memory'*'an allocation of 16 bytes at 0x'*'in kernel broken(int*, int), '*'checked_cub.cu:81 '*) ;;
*) echo "FAIL: broken: status $status: $said"; exit 1 ;;
esac
