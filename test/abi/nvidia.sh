#!/bin/sh
# Every constant, size, offset and prototype in abi/ and api/cuda.api equals that in NVIDIA's headers, and every CUDA
# version in api/cuda.api is the one from which NVIDIA's cuGetProcAddress returns the function.
#
#	nvidia.sh SOURCE_DIR CC
#
# The test reads the names out of our files, so it checks a new declaration without a change here. A toolkit of another
# release than 13.0, or a part of a toolkit, may lack names or have other end markers; that is no failure.
set -eu
src=$1
cc=$2
ours_version=13000

for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
	inc=$home/include
	[ -f "$inc/cuda.h" ] && [ -f "$inc/cudaTypedefs.h" ] && break
	inc=
done
if [ -z "$inc" ]; then
	echo "skipped: no CUDA toolkit (set CUDA_HOME, or install it in /usr/local/cuda)"
	exit 77
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
awk=$src/test/abi
LC_ALL=C
export LC_ALL

# Replacements for the graphics headers that the interop headers include, used only if none are installed.
mkdir -p "$tmp/alien/GL" "$tmp/alien/EGL" "$tmp/alien/vdpau"
cat >"$tmp/alien/GL/gl.h" <<EOF
typedef unsigned int GLenum;
typedef unsigned int GLuint;
EOF
echo 'typedef int EGLint;' >"$tmp/alien/EGL/egl.h"
cat >"$tmp/alien/EGL/eglext.h" <<EOF
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
EOF
cat >"$tmp/alien/vdpau/vdpau.h" <<EOF
#include <stdint.h>
typedef uint32_t VdpDevice;
typedef uint32_t VdpFuncId;
typedef uint32_t VdpOutputSurface;
typedef uint32_t VdpVideoSurface;
typedef int VdpStatus;
typedef VdpStatus VdpGetProcAddress(VdpDevice, VdpFuncId, void **);
EOF
version=$(sed -n 's/^#define CUDA_VERSION //p' "$inc/cuda.h")
same=false
[ "$version" -eq $ours_version ] && same=true
printf '#include <stddef.h>\n#include <vdpau/vdpau.h>\n' >"$tmp/theirs.h"
for header in cuda cudaGL cudaEGL cudaVDPAU cudaProfiler; do
	if [ -f "$inc/$header.h" ]; then
		echo "#include \"$header.h\"" >>"$tmp/theirs.h"
	else
		same=false # a partial toolkit: some packages are
	fi
done
echo '#include "abi/cuda.h"' >"$tmp/ours.h"

# With this name defined, NVIDIA's headers declare every version of a function instead of renaming the newest.
theirs="$cc -std=gnu11 -w -D__CUDA_API_VERSION_INTERNAL -I$inc -idirafter $tmp/alien"
ours="$cc -std=gnu11 -I$src"

bad=false

# 1. The names on both sides.
for side in ours theirs; do
	eval "\$$side -E -P \"\$tmp/$side.h\"" | awk -f "$awk/declarations.awk" | sort -u >"$tmp/$side.names"
done
comm -23 "$tmp/ours.names" "$tmp/theirs.names" >"$tmp/ours.only"
comm -13 "$tmp/ours.names" "$tmp/theirs.names" |
	grep -E '^. (CU|cu)' | grep -vE 'CU_EGL_COLOR_FORMAT|CUeglColorFormat' >"$tmp/theirs.only" || :
comm -12 "$tmp/ours.names" "$tmp/theirs.names" >"$tmp/names"
grep -hoE '^#define (CU|CUDA)_[A-Za-z0-9_]+ ' "$src"/abi/*.h | awk '{ print "D", $2 }' | sort >>"$tmp/names"
if $same && [ -s "$tmp/ours.only" ]; then
	sed 's/^/not in the toolkit: /' "$tmp/ours.only"
	bad=true
fi
if $same && [ -s "$tmp/theirs.only" ]; then
	sed 's/^/not in abi: /' "$tmp/theirs.only"
	bad=true
fi

# 2. Their values: one program, compiled with either set of headers.
awk '
	BEGIN { print "#include HEADER\n#include <stdio.h>" }
	BEGIN { print "#define SHOW(what, x) printf(\"%s = %lld\\n\", what, (long long)(x))" }
	BEGIN { print "int main(void)\n{" }
	$1 == "E" { printf "\tSHOW(\"%s\", %s);\n", $2, $2 }
	$1 == "T" { printf "\tSHOW(\"sizeof(%s)\", sizeof(%s));\n", $2, $2 }
	$1 == "T" && $2 != "CUtensorMap" { printf "\tSHOW(\"_Alignof(%s)\", _Alignof(%s));\n", $2, $2 }
	$1 == "M" { printf "\tSHOW(\"offsetof(%s, %s)\", offsetof(%s, %s));\n", $2, $3, $2, $3 }
	$1 == "M" { printf "\tSHOW(\"sizeof(%s.%s)\", sizeof((*(%s *)0).%s));\n", $2, $3, $2, $3 }
	$1 == "D" { printf "#ifdef %s\n\tSHOW(\"%s\", %s);\n#endif\n", $2, $2, $2 }
	END { print "\treturn 0;\n}" }
' "$tmp/names" >"$tmp/values.c"
for side in ours theirs; do
	eval "\$$side -w -O0 -DHEADER='\"$tmp/$side.h\"' -o \"\$tmp/$side\" \"\$tmp/values.c\""
	"$tmp/$side" >"$tmp/$side.values"
done
if ! $same; then # structs and enums grow at their ends
	for side in ours theirs; do
		grep -vE '^(sizeof|_Alignof|CUDA_VERSION|[A-Z0-9_]*_(MAX|NUM_OPTIONS) )' "$tmp/$side.values" |
			sort >"$tmp/$side.sorted"
	done
	join -t= -o 1.1,1.2 "$tmp/ours.sorted" "$tmp/theirs.sorted" >"$tmp/ours.values"
	join -t= -o 2.1,2.2 "$tmp/ours.sorted" "$tmp/theirs.sorted" >"$tmp/theirs.values"
fi
if ! diff "$tmp/ours.values" "$tmp/theirs.values" >"$tmp/diff"; then
	sed -n 's/^< /abi:     /p; s/^> /toolkit: /p' "$tmp/diff"
	bad=true
fi

# 3. The prototypes: a second declaration that differs from the first does not compile.
{
	cat "$tmp/theirs.h"
	awk -f "$awk/prototypes.awk" "$src/api/cuda.api"
} >"$tmp/prototypes.c"
if ! $theirs -fsyntax-only -fmax-errors=0 "$tmp/prototypes.c" 2>"$tmp/errors"; then
	if $same; then
		grep error: "$tmp/errors" | sed 's/^[^ ]* error: /prototype: /'
		bad=true
	elif grep 'error: conflicting types' "$tmp/errors" | sed 's/^[^ ]* error: /prototype: /' | grep .; then
		bad=true
	fi
fi

# 4. The versions: PFN_name_vVERSION, with the suffix of a twin.
cat "$inc"/cuda*Typedefs.h | grep -oE '\bPFN_cu[A-Za-z0-9_]+_v[0-9]+(_ptsz|_ptds)?\)' | tr -d ')' | sort -u |
	awk '
		NR == FNR { exported[$1]; next }
		{ name = substr($1, 5); sub(/_v[0-9]+(_ptsz|_ptds)?$/, "", name) }
		name in exported
	' "$awk/libcuda-exports.txt" - >"$tmp/theirs.versions" # only names that the Linux driver exports
awk '
	$1 !~ /^[0-9]+$/ || $3 == "-" { next }
	{
		name = $5
		sub(/\(.*/, "", name)
		sub(/_v[0-9]+$/, "", name)
		print "PFN_" name "_v" $3
		if ($4 != "-") {
			split($4, twin, ":")
			print "PFN_" name "_v" twin[2] "_" twin[1]
		}
	}
' "$src/api/cuda.api" | sort -u >"$tmp/ours.versions"
if $same && ! diff "$tmp/ours.versions" "$tmp/theirs.versions" >"$tmp/diff"; then
	sed -n 's/^< /not in the toolkit: /p; s/^> /not in cuda.api: /p' "$tmp/diff"
	bad=true
fi

echo "CUDA $version: $(wc -l <"$tmp/ours.values") values," \
	"$(grep -c '^CUresult' "$tmp/prototypes.c") prototypes, $(wc -l <"$tmp/ours.versions") versions compared"
! $bad
