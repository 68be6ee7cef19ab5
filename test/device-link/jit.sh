#!/bin/sh
# Link each output format of nvcc for one source file with a PTX kernel: jit.sh GANGWAY PROGRAM FOLDER
gangway=$1
program=$2
out=$3
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || { echo "skipped: no nvcc to build objects with"; exit 77; }
mkdir -p "$out/parts" && cd "$out/parts" || exit 1
cat >part.cu <<-'EOF'
	__device__ unsigned bias = 14;
	extern "C" __device__ unsigned triple(unsigned x) { return 3 * x; }
EOF
# The PTX kernel uses the name bias: C++ does not mangle variables of the global namespace.
flags="-rdc=true -Wno-deprecated-gpu-targets -gencode arch=compute_75,code=compute_75"
"$nvcc" $flags -c part.cu -o part.o && "$nvcc" $flags -lib part.o -o part.a &&
	"$nvcc" $flags -fatbin part.cu -o part.fatbin && "$nvcc" -rdc=true -arch=compute_75 -ptx part.cu -o part.ptx &&
	"$nvcc" -rdc=true -arch=sm_80 -cubin part.cu -o part.cubin || exit 1
for file in part.o part.a part.fatbin part.ptx part.cubin; do
	"$gangway" run --on "${DEVICE:-cpu}" -- "$program" "$file" || { echo "FAIL: $program $file"; exit 1; }
done
