#!/bin/sh
# Check that a program that runs with a stub of one of our libraries gets an error: answers.sh PREFIX
#
# Every call returns an error code. If the library has a function for error texts, the text mentions the stub.
prefix=$1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. "$(dirname "$0")/linker.sh"
linker bfd
unset LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH LDFLAGS
lib=$prefix/lib/gangway
told=" "

says() { # SONAME FOLDER CALL NUMBER [TEXT-FUNCTION]
	soname=$1 stubs=$lib/$2 link=${1#lib} want=$4${5:+ }
	told="$told$soname "
	if [ -n "$5" ]; then
		text="const char *$5(int);" print="printf(\"%d %s\\n\", r, $5(r))"
	else
		text='' print='printf("%d\n", r)'
	fi
	printf '#include <stdio.h>\nint %s(void);\n%s\nint main(void) { int r = %s(); %s; return 0; }\n' "$3" "$text" "$3" "$print" >"$out/program.c"
	"$cc" "$use" -o "$out/program" "$out/program.c" -L"$stubs" "-l${link%%.so*}" || { fail "$soname: the program does not link"; return; }
	readelf -d "$out/program" | grep -q "NEEDED.*\[$soname\]" || fail "$soname: the program does not need this SONAME"
	said=$("$out/program" 2>&1) && fail "$soname: the program runs without the library and prints: $said"
	said=$(LD_LIBRARY_PATH=$stubs "$out/program" 2>&1)
	[ "${said%"${said#"$want"}"}" = "$want" ] || fail "$soname: $3: got: $said; expected: $4"
	[ -z "$5" ] || case $said in *"a stub library"*) ;; *) fail "$soname: $5 does not mention a stub library: $said" ;; esac
	echo "$soname: $3 returns $said"
}
says libcuda.so.1 stubs cuInit 34
says libnvidia-ml.so.1 stubs nvmlInit_v2 12 nvmlErrorString
for major in 12 13; do
	says libcublas.so.$major stubs/cublas$major cublasCreate_v2 1 cublasGetStatusString
done

# The checks above cover every library that the installation gives to programs, but for those that only replace a
# library at run time and have no stub to link with.
told="$told libcublasLt.so.12 libcublasLt.so.13 libnvJitLink.so.12 libnvJitLink.so.13 "
for file in "$lib"/lib*.so.? "$lib"/cpu/lib*.so.??; do
	name=$(readelf -dW "$file" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
	case $told in *" $name "*) ;; *) fail "answers.sh does not check the stub of $name" ;; esac
done

# NVIDIA's runtime has its own text for this error.
root=${CUDA_HOME:-/usr/local/cuda}
if [ -e "$root/lib64/libcudart.so" ]; then
	printf '#include <stdio.h>\nint cudaGetDeviceCount(int *);\nconst char *cudaGetErrorString(int);\nint main(void) { int n, r = cudaGetDeviceCount(&n); printf("%%d %%s\\n", r, cudaGetErrorString(r)); return 0; }\n' >"$out/runtime.c"
	"$cc" "$use" -o "$out/runtime" "$out/runtime.c" -L"$root/lib64" -lcudart || fail "the program with NVIDIA's runtime does not link"
	said=$(LD_LIBRARY_PATH=$root/lib64:$lib/stubs "$out/runtime" 2>&1)
	[ "$said" = "34 CUDA driver is a stub library" ] || fail "NVIDIA's runtime: got: $said; expected: 34 CUDA driver is a stub library"
	echo "NVIDIA's runtime: cudaGetDeviceCount returns $said"
fi
exit $failed
