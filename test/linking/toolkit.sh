#!/bin/sh
# CMake's FindCUDAToolkit takes the driver from us when it is pointed here: toolkit.sh PREFIX
#
# In two ways: by our module, which is right with every CMake, and by its own variable for the stubs.
prefix=$1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. "$(dirname "$0")/linker.sh"
linker bfd
root=${CUDA_HOME:-/usr/local/cuda}
[ -e "$root/include/cuda_runtime.h" ] || { echo "skipped: there is no CUDA toolkit in $root"; exit 77; }
unset LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH LDFLAGS

build() {
	name=$1
	shift
	if ! "${CMAKE:-cmake}" -S "$here/toolkit" -B "$out/$name" -DCMAKE_C_COMPILER="$cc" -DCUDAToolkit_ROOT="$root" "$@" >"$out/log" 2>&1 ||
		! "${CMAKE:-cmake}" --build "$out/$name" -v >>"$out/log" 2>&1; then
		cat "$out/log"
		fail "$name does not build"
		exit 1
	fi
}

build module -DCMAKE_MODULE_PATH="$("$prefix/bin/gangway" config --cmake)"
try module "$out/module/indirect"
try module "$out/module/direct"

# Before 3.28 CMake takes a stub for a library to run with: it puts the folder into RUNPATH in the build tree, and
# leaves it out when it links a program that uses the library only. Hence the module above.
build stubs -DCMAKE_LIBRARY_PATH="$("$prefix/bin/gangway" config --stubs)" \
	-DCMAKE_EXE_LINKER_FLAGS="$("$prefix/bin/gangway" config --ldflags)"
grep "^CUDA_cuda_driver_LIBRARY:.*=$prefix/lib/gangway/stubs/libcuda.so" "$out/stubs/CMakeCache.txt" ||
	fail "FindCUDAToolkit does not take the stub: $(grep CUDA_cuda_driver "$out/stubs/CMakeCache.txt")"
version=$("${CMAKE:-cmake}" --version | sed -n 's/^cmake version 3\.\([0-9]*\).*/\1/p')
[ "${version:-99}" -lt 28 ] || try stubs "$out/stubs/indirect"
exit $failed
