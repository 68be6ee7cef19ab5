#!/bin/sh
# Every constant, size, offset and prototype in abi/nvml.h and api/nvml.api equals that in NVIDIA's nvml.h.
#
#	nvml.sh SOURCE_DIR CC
#
# The header is that of CUDA 13.0: from an installed toolkit of that release, or from a wheel when the test
# is run (test/helper/wheels.sh).  Six names are not in it: three are newer, three are in no public header.
set -eu
src=$1
cc=$2
inc=
for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
	header=$home/include/nvml.h
	grep -qs nvmlDeviceGetHostname_v1 "$header" && ! grep -q nvmlDeviceGetRemappedRows_v2 "$header" &&
		inc=$home/include && break
done
if [ -z "$inc" ]; then
	status=0
	inc=$(sh "$src/test/helper/wheels.sh" nvidia-nvml-dev 13.0.87 2>&1) || status=$?
	[ $status -eq 0 ] || { echo "$inc"; exit $status; }
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
LC_ALL=C
export LC_ALL
echo '#include <stddef.h>
#include "nvml.h"' >"$tmp/theirs.h"
echo '#include <stddef.h>
#include "abi/nvml.h"' >"$tmp/ours.h"
theirs="$cc -std=gnu11 -w -I$inc" # -DNVML_NO_UNVERSIONED_FUNC_DEFS hides types as well
ours="$cc -std=gnu11 -I$src"
bad=false

# 1. The names on both sides: types, members, constants. All of ours must be in theirs.
for side in ours theirs; do
	eval "\$$side -E -P \"\$tmp/$side.h\"" | awk -v 'only=^nvml' -f "$src/test/abi/declarations.awk" | sort -u >"$tmp/$side.names"
done
grep -E '^[TE]' "$tmp/ours.names" | sort -u >"$tmp/ours.top"
grep -E '^[TE]' "$tmp/theirs.names" | sort -u >"$tmp/theirs.top"
comm -23 "$tmp/ours.top" "$tmp/theirs.top" >"$tmp/ours.only"
comm -12 "$tmp/ours.names" "$tmp/theirs.names" >"$tmp/names"
grep -hoE '^#define NVML_[A-Z0-9_]+	' "$src/abi/nvml.h" | awk '{ print "D", $2 }' >>"$tmp/names"

# 2. Their values: one program, compiled with either header.
awk '
	BEGIN { print "#include HEADER\n#include <stdio.h>" }
	BEGIN { print "#define SHOW(what, x) printf(\"%s = %lld\\n\", what, (long long)(x))" }
	BEGIN { print "int main(void)\n{" }
	$1 == "E" { printf "\tSHOW(\"%s\", %s);\n", $2, $2 }
	$1 == "T" { printf "\tSHOW(\"sizeof(%s)\", sizeof(%s));\n", $2, $2 }
	$1 == "T" { printf "\tSHOW(\"_Alignof(%s)\", _Alignof(%s));\n", $2, $2 }
	$1 == "M" { printf "\tSHOW(\"offsetof(%s, %s)\", offsetof(%s, %s));\n", $2, $3, $2, $3 }
	$1 == "M" { printf "\tSHOW(\"sizeof(%s.%s)\", sizeof((*(%s *)0).%s));\n", $2, $3, $2, $3 }
	$1 == "D" { printf "#ifdef %s\n\tSHOW(\"%s\", %s);\n#endif\n", $2, $2, $2 }
	END { print "\treturn 0;\n}" }
' "$tmp/names" >"$tmp/values.c"
for side in ours theirs; do
	eval "\$$side -w -O0 -DHEADER='\"$tmp/$side.h\"' -o \"\$tmp/$side\" \"\$tmp/values.c\""
	"$tmp/$side" >"$tmp/$side.values"
done
if ! diff "$tmp/ours.values" "$tmp/theirs.values" >"$tmp/diff"; then
	sed -n 's/^< /abi:    /p; s/^> /header: /p' "$tmp/diff"
	bad=true
fi

# 3. The prototypes: a second declaration that differs from the first does not compile.
{
	echo '#define NVML_NO_UNVERSIONED_FUNC_DEFS'
	cat "$tmp/theirs.h"
	echo 'typedef nvmlProcessInfo_v2_t nvmlProcessInfo_t;'
	awk -v all=1 -f "$src/test/abi/prototypes.awk" "$src/api/nvml.api"
} >"$tmp/prototypes.c"
if ! $theirs -fsyntax-only -fmax-errors=0 "$tmp/prototypes.c" 2>"$tmp/errors"; then
	if grep 'error: conflicting types' "$tmp/errors" | sed 's/^[^ ]* error: /prototype: /' | grep .; then
		bad=true
	fi
fi
missing=$(grep -c "undeclared" "$tmp/errors" || :)
echo "NVML: $(wc -l <"$tmp/ours.values") values, $(grep -c '^extern' "$tmp/prototypes.c") prototypes compared;" \
	"$missing names and $(wc -l <"$tmp/ours.only") types are not in this header"
[ "$missing" -le 6 ] && [ "$(wc -l <"$tmp/ours.only")" -le 6 ] || { cat "$tmp/ours.only"; grep error: "$tmp/errors" | head -20; bad=true; }
! $bad
