#!/bin/sh
# Check which ways of linking work on a machine without a driver: matrix.sh PREFIX LINKER
#
# A program, a library, libcuda.so.1: GNU ld wants to find the latter when it links the program, the others
# do not. "only" is a folder as toolkits have it, with libcuda.so alone. What gangway config prints must do
# in every case; the other rows are there so that the table in doc/linking.md stays true.
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

# row EXPECTED ENVIRONMENT OPTIONS...: links the program so
row() {
	want=$1 variable=$2
	shift 2
	rm -f program
	got=fail
	env $variable "$cc" "$use" -o program "$here/program.c" "$@" >log 2>&1 && got=pass
	name=$(echo "$variable $*" | sed "s#$out/##g; s#$stubs#stubs#g; s# libpart.so##")
	printf '%-5s %s %s\n' "${use#*=}" "$got" "$name"
	[ "$want" = fail ] && [ -n "$here_is_a_driver" ] && return
	[ "$got" = "$want" ] || { cat log; fail "$name: wanted $want"; }
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

# Ours: the driver is called by the program itself, or by a library.
row pass '' -Wl,-rpath,'$ORIGIN' libpart.so $flags
try indirect "$out/program"
row pass '' "$here/part.c" $flags -lcuda
try direct "$out/program"
exit $failed
