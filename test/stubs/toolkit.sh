#!/bin/sh
# Check that CMake's FindCUDAToolkit uses our stubs: toolkit.sh PREFIX
#
# The test covers two ways: our CMake module, and the search for stubs in FindCUDAToolkit itself.
prefix=$1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. "$(dirname "$0")/linker.sh"
linker bfd
root=${CUDA_HOME:-/usr/local/cuda}
[ -e "$root/include/cuda_runtime.h" ] || { echo "skipped: no CUDA toolkit in $root"; exit 77; }
unset LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH LDFLAGS

build() {
	name=$1
	shift
	if ! "${CMAKE:-cmake}" -S "$here/toolkit" -B "$out/$name" -DCMAKE_C_COMPILER="$cc" -DCUDAToolkit_ROOT="$root" "$@" >"$out/log" 2>&1 ||
		! "${CMAKE:-cmake}" --build "$out/$name" -v >>"$out/log" 2>&1; then
		cat "$out/log"
		fail "$name: the project does not build"
		exit 1
	fi
}

build module -DCMAKE_MODULE_PATH="$("$prefix/bin/gangway" config --cmake)"
try module "$out/module/indirect"
try module "$out/module/direct"

# CMake treats a folder in LDFLAGS as a system folder and omits it from RUNPATH.
LDFLAGS=$("$prefix/bin/gangway" config --ldflags)
export LDFLAGS
build search -DCMAKE_LIBRARY_PATH="$("$prefix/bin/gangway" config --stubs)"
grep "^CUDA_cuda_driver_LIBRARY:.*=$prefix/lib/gangway/stubs/libcuda.so" "$out/search/CMakeCache.txt" ||
	fail "FindCUDAToolkit does not find the stub: $(grep CUDA_cuda_driver "$out/search/CMakeCache.txt")"
try search "$out/search/indirect"
try search "$out/search/direct"
exit $failed
