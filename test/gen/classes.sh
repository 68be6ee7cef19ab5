#!/bin/sh
# The class of each call agrees with the functions that exist:
#  - every generated call_X is used: the linker drops an unused one from the library
#  - every remote_X, front_X, ml_X and serve_X written by hand is one that the class demands
#  - every operation of wire/ops.def and wire/nvml_ops.def is sent by the client
# A function that the class demands and nobody defines is an undefined symbol, so that the library does not link.
#
#	classes.sh NM GEN SOURCE LIBCUDA LIBNVML OBJECTS...
nm=$1 gen=$2 source=$3 libcuda=$4 libnvml=$5
shift 5
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

# declared PREFIX HEADER: the functions PREFIX_X of a generated header
declared() {
	grep -oE "\\b$1_(cu|nvml)[A-Z][A-Za-z0-9_]+\\(" "$gen/$2" | tr -d '(' | sort -u
}

# used LIB HEADER: every stub is still in the library
used() {
	"$nm" --defined-only "$1" | awk '{print $3}' | sort -u >"$out/have"
	declared call "$2" >"$out/stubs"
	[ "$(wc -l <"$out/stubs")" -ge 100 ] || fail "only $(wc -l <"$out/stubs") stubs in $2"
	comm -23 "$out/stubs" "$out/have" >"$out/unused"
	while read -r name; do
		fail "$name is generated and never called: its class should be hand"
	done <"$out/unused"
}
used "$libcuda" cuda_client.h
used "$libnvml" nvml_client.h

# demanded PREFIX HEADERS...: no object defines another one
"$nm" --defined-only "$@" | awk '$2 ~ /^[TW]$/ {print $3}' | sort -u >"$out/defined"
demanded() {
	prefix=$1
	shift
	for header in "$@"; do declared "$prefix" "$header"; done | sort -u >"$out/want"
	grep -E "^${prefix}_(cu|nvml)[A-Z]" "$out/defined" >"$out/have"
	[ -s "$out/have" ] || fail "no object defines a ${prefix}_X"
	comm -13 "$out/want" "$out/have" >"$out/extra"
	while read -r name; do
		fail "$name is defined, but the class of ${name#*_} has no such function"
	done <"$out/extra"
}
demanded remote cuda_client.h nvml_client.h
demanded front front_ops.h
demanded ml nvml_ml.h
demanded serve cuda_serve.h

# sent DEF FOLDER: the client has a use for each operation
sent() {
	for op in $(sed -n 's/^OP([0-9]*, \(WIRE_[A-Z_]*\),.*/\1/p' "$source/wire/$1"); do
		grep -rqw --include="*.c" "$op" "$source/backend/$2" "$source/wire" || fail "no client sends $op"
	done
}
sent ops.def remote
sent nvml_ops.def nvml
exit $failed
