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
echo "\$ gangway run --on null $(basename "$program")"
NO_RESULTS=1 GANGWAY_NULL_LOG=$work/launches GANGWAY_TRACE=$work/trace "$build/bin/gangway" run --on null -- "$program"
status=$?
echo
echo "It made $(wc -l <"$work/trace") driver calls; the ones that moved data or started work:"
grep -E '\] cu(MemAlloc|Memcpy|Memset|LaunchKernel|MemFree)' "$work/trace" | sed 's/^\[[^]]*\]/ /' | cut -c1-110
echo
echo "And the null device recorded: $(cut -c1-90 "$work/launches")..."
echo "(kernels are recorded here, not run: gangway run --on nvidia runs them on this machine's GPU)"
exit $status
