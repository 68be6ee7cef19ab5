#!/bin/sh
# compiled.sh BUILD COMMAND...: runs a test on the CPU device, and fails if no warp of it ran compiled code. Only the profile
# tells, because a kernel without code is interpreted with the same result. Skipped in a build without LLVM.
[ -e "$1/lib/gangway/libgangway-jit.so" ] || { echo "skipped: this build has no compiler; it needs LLVM 19"; exit 77; }
shift
profile=$(mktemp) || exit 1
trap 'rm -f "$profile"' EXIT
GANGWAY_PROFILE=$profile "$@"
status=$?
[ $status -eq 0 ] || exit $status
awk '$1 ~ /^[0-9.]+$/ && $4 ~ /^(interpreted|partly|compiled)$/ { interpreted += $6; compiled += $7 }
	END { print compiled + 0 " warps began in compiled code, " interpreted + 0 " were interpreted"; exit !compiled }' "$profile" ||
	{ echo "FAIL: nothing ran compiled"; exit 1; }
