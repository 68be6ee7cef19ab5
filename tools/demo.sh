#!/bin/sh
# make demo: an unmodified CUDA program through Gangway, and what it asked for.
build=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/local/cuda/bin

if command -v nvcc >/dev/null; then
	echo "Building demo/vectoradd.cu with $(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'): runtime API, static cudart."
	nvcc -o "$work/vectoradd" demo/vectoradd.cu || exit 1
	program=$work/vectoradd
else
	echo "No nvcc here: taking demo/vectoradd.c, which loads PTX through the driver API."
	program=$build/test/gpu/gpu-driver
fi

echo
echo "\$ gangway run --on cpu $(basename "$program")"
GANGWAY_TRACE=$work/trace "$build/bin/gangway" run --on cpu -- "$program"
status=$?
echo
echo "It made $(wc -l <"$work/trace") driver calls; the ones that moved data or started work:"
grep -E '\] cu(MemAlloc|Memcpy|Memset|LaunchKernel|MemFree)' "$work/trace" | sed 's/^\[[^]]*\]/ /' | cut -c1-110
echo
echo "The kernel ran on this machine's processor, from the PTX in the program. No GPU was involved."
exit $status
