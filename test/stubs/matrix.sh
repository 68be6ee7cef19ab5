#!/bin/sh
# Check which ways of linking work on a machine without a driver: matrix.sh PREFIX LINKER
#
# The program needs a library that needs libcuda.so.1. GNU ld must find libcuda.so.1 when it links the program; the other
# linkers need not. The folder "only" holds just libcuda.so, as in CUDA toolkits. The flags that gangway config prints must
# work with every linker. The other rows verify the table in doc/linking.md.
prefix=$1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. "$(dirname "$0")/linker.sh"
linker "$2"

stubs=$("$prefix/bin/gangway" config --stubs) || exit 1
flags=$("$prefix/bin/gangway" config --ldflags) || exit 1
mkdir "$out/only"
cp "$stubs/libcuda.so" "$out/only/libcuda.so"
unset LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH
cd "$out" || exit 1
"$cc" "$use" -shared -fPIC -o libpart.so "$here/part.c" $flags -lcuda || exit 1
"$cc" "$use" -shared -fPIC -o libpath.so "$here/part.c" $flags -lcuda -Wl,-rpath,"$stubs" || exit 1
mkdir with && mv libpath.so with/libpart.so

here_is_a_driver=
/sbin/ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1 ' && here_is_a_driver=1

# row EXPECTED ENVIRONMENT OPTIONS...: link the program and compare the result (pass or fail)
row() {
	want=$1 variable=$2
	shift 2
	rm -f program
	got=fail
	env $variable "$cc" "$use" -o program "$here/program.c" "$@" >log 2>&1 && got=pass
	name=$(echo "$variable $*" | sed "s#$out/##g; s#$stubs#stubs#g; s# libpart.so##")
	printf '%-5s %s %s\n' "${use#*=}" "$got" "$name"
	[ "$want" = fail ] && [ -n "$here_is_a_driver" ] && return
	[ "$got" = "$want" ] || { cat log; fail "$name: got $got, expected $want"; }
}

strict=pass
[ "$2" = bfd ] && strict=fail
row $strict '' libpart.so
row $strict LIBRARY_PATH="$out/only" libpart.so
row $strict LIBRARY_PATH="$stubs" libpart.so
row $strict '' -L"$stubs" libpart.so
row $strict '' -Wl,-rpath-link,"$out/only" libpart.so
row pass '' -Wl,-rpath-link,"$stubs" libpart.so
row pass '' -Wl,-rpath,"$stubs" libpart.so
row pass LD_LIBRARY_PATH="$stubs" libpart.so
row pass LD_RUN_PATH="$stubs" libpart.so
row pass '' with/libpart.so
row pass '' libpart.so -L"$out/only" -lcuda
row pass '' -Wl,--as-needed libpart.so -L"$out/only" -lcuda
row pass '' -Wl,--allow-shlib-undefined libpart.so

# The flags of gangway config: the library calls the driver, then the program itself does.
row pass '' -Wl,-rpath,'$ORIGIN' libpart.so $flags
try indirect "$out/program"
row pass '' "$here/part.c" $flags -lcuda
try direct "$out/program"
exit $failed
