#!/bin/sh
# A served CPU device behind the filter interprets: interprets.sh BUILD PTX-RUN SPEC. The tier strict makes a launch fail if its
# kernel is not compiled for such a reason; with jit the same launch succeeds, and leaves no cache.
[ -e "$1/lib/gangway/libgangway-jit.so" ] || { echo "skipped: this build has no compiler; it needs LLVM 19"; exit 77; }
served() { # TIER COMMAND...: under it, $cache is the server's folder
	tier=$1
	shift
	env -u CUDA_CACHE_DISABLE -u CUDA_CACHE_PATH GANGWAY_CPU_CC=100 GANGWAY_CPU_TIER="$tier" SERVE='--sandbox strict' \
		"$(dirname "$0")/../served.sh" "$build/bin/gangway" cpu unix sh -c \
		'cache=$(dirname "${DEVICE#unix:}")/cache/gangway/kernels; '"$1"
}
build=$1
run="'$build/bin/gangway' run -- '$2' --cuda '$3'"
served strict "said=\$($run 2>&1) && { echo 'FAIL: compiled'; exit 1; }; echo \"\$said\"; echo \"\$said\" | grep -q 'gave 801'" || exit
served jit "$run && [ ! -e \"\$cache\" ] || { echo 'FAIL: no result, or a cache'; exit 1; }"
