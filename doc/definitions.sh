#!/bin/sh
# definitions.sh NM OUT PARTS OBJECTS...: the entry points X that these objects define as PART_X, for PARTS "a|b".
nm=$1 out=$2 parts=$3
shift 3
"$nm" --defined-only "$@" | awk -v p="^($parts)_(cu|nvml)" '$3 ~ p && $2 ~ /^[TtW]$/ {sub("^[a-z]*_", "", $3); print $3}' |
	sort -u >"$out"
