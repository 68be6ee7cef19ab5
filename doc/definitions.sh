#!/bin/sh
# definitions.sh NM PREFIX OUT OBJECTS...: the functions PREFIX_cuX that these objects define.
nm=$1 prefix=$2 out=$3
shift 3
"$nm" --defined-only "$@" | awk -v p="^${prefix}_cu" '$3 ~ p && ($2 == "T" || $2 == "t" || $2 == "W") {print $3}' | sort -u >"$out"
