#!/bin/sh
# Check linking with the stub of our cuBLAS, with pkg-config and with CMake: cublas.sh PREFIX MAJOR
#
# The program runs with our cuBLAS on our device, and gets an error with the stub. The folder of the driver's stubs does not
# contain the stub of cuBLAS.
prefix=$1 major=$2
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. "$(dirname "$0")/linker.sh"
sh "$here/../helper/package.sh" pkg-config pkg-config || exit
linker bfd
unset LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH LDFLAGS
lib=$prefix/lib/gangway

says() { # name, program
	readelf -d "$2" | grep -E 'R(UN)?PATH.*stubs' && fail "$1: the RUNPATH of the program contains the folder of the stubs"
	said=$("$prefix/bin/gangway" run --on cpu -- "$2" 2>&1)
	[ "$said" = "cublasCreate 0" ] || fail "$1: under gangway run: got: $said; expected: cublasCreate 0"
	said=$(LD_LIBRARY_PATH=$lib/stubs/cublas$major "$2" 2>&1)
	[ "$said" = "cublasCreate 1" ] || fail "$1: with the stub: got: $said; expected: cublasCreate 1"
}
flags=$(PKG_CONFIG_PATH=$("$prefix/bin/gangway" config --pkgconfig) pkg-config --libs "gangway-cublas$major") || exit 1
"$cc" "$use" -shared -fPIC -o "$out/libmultiplies.so" "$here/cublas/multiplies.c" $flags || fail "pkg-config: the library does not link"
"$cc" "$use" -o "$out/program" "$here/cublas/program.c" "$out/libmultiplies.so" -Wl,-rpath,"$out" $flags || fail "pkg-config: the program does not link"
says pkg-config "$out/program"

if ! { "${CMAKE:-cmake}" -S "$here/cublas" -B "$out/build" -DMAJOR="$major" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" &&
	"${CMAKE:-cmake}" --build "$out/build" -v; } >"$out/log" 2>&1; then
	cat "$out/log"
	fail "CMake: the project does not build"
else
	says CMake "$out/build/program"
fi

ls "$lib/stubs/" | grep 'cublas.*so' && fail "the folder of the driver's stubs contains cuBLAS, which hides the cuBLAS of a toolkit"
for from in $("$prefix/bin/gangway" config --ldflags); do
	case $from in *cublas*) fail "gangway config --ldflags names the folder of the cuBLAS stub: $from" ;; esac
done
exit $failed
