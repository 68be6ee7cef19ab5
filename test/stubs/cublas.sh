#!/bin/sh
# Linking with the stub of our cuBLAS, by pkg-config and by CMake: cublas.sh PREFIX MAJOR
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
	readelf -d "$2" | grep -E 'R(UN)?PATH.*stubs' && fail "$1: the stubs are on its run-time path"
	said=$("$prefix/bin/gangway" run --on cpu -- "$2" 2>&1)
	[ "$said" = "cublasCreate 0" ] || fail "$1: with gangway run it said: $said"
	said=$(LD_LIBRARY_PATH=$lib/stubs/cublas$major "$2" 2>&1)
	[ "$said" = "cublasCreate 1" ] || fail "$1: with the stub it said: $said"
}
flags=$(PKG_CONFIG_PATH=$("$prefix/bin/gangway" config --pkgconfig) pkg-config --libs "gangway-cublas$major") || exit 1
"$cc" "$use" -shared -fPIC -o "$out/libmultiplies.so" "$here/cublas/multiplies.c" $flags || fail "pkg-config: a library"
"$cc" "$use" -o "$out/program" "$here/cublas/program.c" "$out/libmultiplies.so" -Wl,-rpath,"$out" $flags || fail "pkg-config: a program"
says pkg-config "$out/program"

if ! { "${CMAKE:-cmake}" -S "$here/cublas" -B "$out/build" -DMAJOR="$major" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" &&
	"${CMAKE:-cmake}" --build "$out/build" -v; } >"$out/log" 2>&1; then
	cat "$out/log"
	fail "CMake: it does not build"
else
	says CMake "$out/build/program"
fi

ls "$lib/stubs/" | grep 'cublas.*so' && fail "beside the driver's stubs it comes before a toolkit's"
for from in $("$prefix/bin/gangway" config --ldflags); do
	case $from in *cublas*) fail "gangway config --ldflags leads to it: $from" ;; esac
done
exit $failed
