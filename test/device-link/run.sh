#!/bin/sh
# Build a program of this folder with nvcc and run it on the CPU device: run.sh GANGWAY FOLDER PROGRAM
# Exits with 77 without nvcc.
gangway=$1
out=$2
program=$3
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || { echo "skipped: no nvcc to build $program with"; exit 77; }
cd "$here" || exit 1

build() {
	newest=$(ls -t "$here"/* "$out/$program" 2>/dev/null | head -n 1)
	[ "$newest" = "$out/$program" ] && return 0
	"$nvcc" -Wno-deprecated-gpu-targets "$@" -o "$out/$program" || exit 1
}

ptx="-gencode arch=compute_75,code=compute_75"
case $program in
rdc-static) build -rdc=true $ptx rdc.cu rdc_other.cu ;;
rdc-shared) build -rdc=true -cudart shared $ptx rdc.cu rdc_other.cu ;;
# This variant also contains machine code, which the CPU device cannot use.
rdc-both) build -rdc=true -gencode 'arch=compute_75,code=[compute_75,sm_80]' rdc.cu rdc_other.cu ;;
nested) build -rdc=true -gencode arch=compute_80,code=compute_80 nested.cu -lcudadevrt ;;
conditional) build -rdc=true -gencode arch=compute_80,code=compute_80 conditional.cu ;;
*) echo "run.sh: unknown program $program"; exit 1 ;;
esac
dir=$(dirname "$(readlink -f "$nvcc")")/../lib64
[ -d "$dir" ] || dir=/usr/local/cuda/lib64
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$dir "$gangway" run --on "${DEVICE:-cpu}" -- "$out/$program"
