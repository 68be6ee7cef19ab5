#!/bin/sh
# bench/cpu/run.sh BUILD [ARGUMENTS]: kernels on the CPU device against C, OpenMP and PoCL; main.c describes the arguments.
#
# The bench is compiled here, for this machine: -O3 -march=native. It needs nvcc; without, the script ends with 77. The
# packages of PoCL are installed if this is root with apt-get and INSTALL=1 is set; without PoCL its column is empty.
build=${1:?which build folder?}
shift
here=$(dirname "$0")
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || { echo "skipped: no nvcc to compile the kernels with"; exit 77; }
if [ "$INSTALL" = 1 ] && [ ! -e /etc/OpenCL/vendors/pocl.icd ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "# Installing pocl-opencl-icd and ocl-icd-libopencl1"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends pocl-opencl-icd ocl-icd-libopencl1 >/dev/null 2>&1 ||
		echo "# The packages cannot be installed: no column for PoCL"
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# $cc and the flags are several words: CC may have arguments.
cc=${CC:-cc}
native=${NATIVE:--O3 -march=native}
$cc $native -DFORM=c -c -o "$dir/plain.o" "$here/kernels.c" &&
	$cc $native -fopenmp -DFORM=omp -c -o "$dir/omp.o" "$here/kernels.c" &&
	$cc -O2 -D_GNU_SOURCE -march=native -fopenmp -o "$dir/bench-cpu" "$here/main.c" "$here/list.c" "$here/form_c.c" \
		"$here/form_cuda.c" "$here/form_opencl.c" "$dir/plain.o" "$dir/omp.o" -lm -ldl || exit 1
"$nvcc" -ptx -arch=compute_80 -Wno-deprecated-gpu-targets -o "$dir/kernels.ptx" "$here/kernels.cu" || exit 1
"$build/bin/gangway" run --on cpu -- "$dir/bench-cpu" "$@" "$dir/kernels.ptx" "$here/kernels.cl"
