#!/bin/sh
# Build a program of this folder with nvcc: build.sh PROGRAM FOLDER. Exits with 77 without nvcc.
#
# The programs contain PTX, which all our devices accept, and code for sm_90, which the null device prefers.
program=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || { echo "skipped: no nvcc to build $program with"; exit 77; }
mkdir -p "$out"
cd "$here" || exit 1

compile() {
	target=$1
	shift
	newest=$(ls -t "$here"/* "$out/$target" 2>/dev/null | head -n 1)
	[ "$newest" = "$out/$target" ] && return 0
	[ "$target" = sass ] || set -- -gencode 'arch=compute_75,code=[compute_75,sm_90]' "$@"
	"$nvcc" -I ../.. -Wno-deprecated-gpu-targets -Xcompiler -Wall \
		-o "$out/$target" "$@" || exit 1
}

case $program in
static) compile static runtime.cu part.cu ;;
shared) compile shared -cudart shared runtime.cu part.cu ;;
per-thread) compile per-thread --default-stream per-thread runtime.cu part.cu ;;
rdc) compile rdc -rdc=true -DRDC runtime.cu part.cu ;;
packed) compile packed -Xfatbin -compress-all --compress-mode=size runtime.cu part.cu ;;
forks) compile forks forks.cu ;;
exits) compile exits exits.cu ;;
shared-per-thread) compile shared-per-thread -cudart shared --default-stream per-thread runtime.cu part.cu ;;
shared-rdc) compile shared-rdc -cudart shared -rdc=true -DRDC runtime.cu part.cu ;;
shared-forks) compile shared-forks -cudart shared forks.cu ;;
shared-exits) compile shared-exits -cudart shared exits.cu ;;
shared-renew) compile shared-renew -cudart shared renew.cu ;;
renew) compile renew renew.cu ;;
sass) compile sass -gencode arch=compute_90,code=sm_90 sass.cu ;;
two)
	compile plugin-a.so -shared -Xcompiler -fPIC -DWHO='"a"' plugin.cu
	compile plugin-b.so -shared -Xcompiler -fPIC -DWHO='"b"' plugin.cu
	compile two -x c -cudart none two.c -ldl -lpthread
	;;
*) echo "build.sh: unknown program $program"; exit 1 ;;
esac
