#!/bin/sh
# Build the programs of test/helper/redirect, with one subfolder for each situation: build.sh FOLDER
#
# Without a CUDA toolkit, this script omits the programs that use NVIDIA's runtime, and run.sh skips them.
out=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
helper=$root/test/helper/redirect
cuda=${CUDA_HOME:-/usr/local/cuda}
cc="${CC:-cc} -O1 -g -Wall -D_GNU_SOURCE -I$root"
[ "$out/complete" -nt "$helper/probe.c" ] && [ "$out/complete" -nt "$here/build.sh" ] && [ "$out/complete" -nt "$helper/report.h" ] &&
	[ "$out/complete" -nt "$helper/decoy.c" ] && [ "$out/complete" -nt "$helper/open_namespace.c" ] && exit 0
rm -rf "$out"
mkdir -p "$out/decoy" "$out/nameless" && cd "$out" || exit 1
set -e

decoy="$cc -shared -fPIC -Wl,-z,nodelete $helper/decoy.c"
$decoy -Wl,-soname,libcuda.so.1 -o decoy/libcuda.so.1
ln -s libcuda.so.1 decoy/libcuda.so
# This copy has no SONAME, so that the DT_NEEDED entry of a program linked with it is the path.
$decoy -o nameless/libcuda.so.1
$cc -o launch "$helper/launch.c"
$cc -o space "$helper/open_namespace.c" -ldl
$cc -fno-plt -o space-got "$helper/open_namespace.c" -ldl

modes='linked opened asked'
runtime_static="$cuda/lib64/libcudart_static.a -lrt -lpthread -ldl"
runtime_shared="$cuda/lib64/libcudart.so -Wl,-rpath-link,$cuda/lib64"
[ -e "$cuda/lib64/libcudart_static.a" ] && modes="$modes static shared two"
for mode in $modes; do
	case $mode in
	static | shared) define=RUNTIME ;;
	*) define=$(echo "$mode" | tr a-z A-Z) ;;
	esac
	$cc -fPIC -D$define -c "$helper/probe.c" -o "$mode.o"
	$cc -fPIC -D$define "-DPREOPEN=\"$out/decoy/libcuda.so.1\"" -c "$helper/probe.c" -o "$mode.preopen.o"
	$cc -fPIC -D$define -DLIBRARY -c "$helper/probe.c" -o "$mode.library.o"
done
[ "$modes" != "${modes% two}" ] && $cc -fPIC -DRUNTIME -DLIBRARY -c "$helper/probe.c" -o plugin.o

libraries() { # mode, situation
	case $1 in
	linked) if [ "$2" = absolute ]; then echo "$out/nameless/libcuda.so.1"; else echo "$out/decoy/libcuda.so.1"; fi ;;
	static) echo "$runtime_static" ;;
	# The loader ignores the program's RUNPATH for libcudart.so.N's dlopen: make the program need libcuda.so.1 itself.
	shared) echo "$runtime_shared $([ "$2" != runpath ] || echo "-Wl,--no-as-needed $out/decoy/libcuda.so.1")" ;;
	*) echo -ldl ;;
	esac
}
link() { # situation, linker options
	situation=$1
	shift
	mkdir -p "$situation"
	for mode in $modes; do
		object=$mode.o
		[ "$situation" = absolute ] && [ "$mode" != linked ] && object=$mode.preopen.o
		$cc -pie "$@" -o "$situation/$mode" "$object" $(libraries "$mode" "$situation")
		# The library that probe.py opens.
		[ "$mode" = linked ] && $cc -shared "$@" -o "$situation/linked.so" linked.library.o $(libraries linked "$situation")
		[ "$mode" != two ] || for which in a b; do
			$cc -shared "$@" -o "$situation/plugin-$which.so" plugin.o $runtime_static
		done
	done
}
link plain
link rpath -Wl,--disable-new-dtags "-Wl,-rpath,$out/decoy"
link runpath -Wl,--enable-new-dtags "-Wl,-rpath,$out/decoy"
link origin -Wl,--disable-new-dtags '-Wl,-rpath,$ORIGIN'
cp decoy/libcuda.so.1 origin/
link absolute
mkdir dlmopen
for mode in $modes; do
	$cc -shared -o "dlmopen/$mode.so" "$mode.library.o" $(libraries "$mode" dlmopen)
done
[ -e plain/plugin-a.so ] && cp plain/plugin-?.so dlmopen/
touch complete
