#!/bin/sh
# Check that a CMake project whose sub-project uses the driver privately links with our package: cmake.sh PREFIX LINKER
#
# The top project does not mention the driver. Neither does an external project, which the top project builds separately.
# The variable CMAKE selects another cmake program.
prefix=$1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. "$(dirname "$0")/linker.sh"
linker "$2"
unset LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH LDFLAGS
CMAKE_PREFIX_PATH=$prefix
export CMAKE_PREFIX_PATH
if ! "${CMAKE:-cmake}" -S "$here/nested" -B "$out/build" -DCMAKE_C_COMPILER="$cc" \
	-DCMAKE_EXE_LINKER_FLAGS="$use" -DCMAKE_SHARED_LINKER_FLAGS="$use" >"$out/log" 2>&1 ||
	! "${CMAKE:-cmake}" --build "$out/build" -v >>"$out/log" 2>&1; then
	cat "$out/log"
	fail "the project does not build"
	exit 1
fi
"${CMAKE:-cmake}" --install "$out/build" --prefix "$out/installed" >/dev/null || fail "the project does not install"
try indirect "$out/build/indirect"
try direct "$out/build/direct"
try outside "$out/build/outside/outside"
try installed "$out/installed/bin/indirect"
readelf -d "$out/installed/bin/indirect" | grep -E 'R(UN)?PATH.*gangway' && fail "the RUNPATH of an installed program contains our folder"
exit $failed
