#!/bin/sh
# Run the program of follow.c under gangway run, with a foreign audit library that must stay: follow.sh GANGWAY FOLLOW
gangway=$1
program=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
version=$(getconf GNU_LIBC_VERSION | sed 's/.* 2\.//')
[ "$version" -ge 35 ] || { echo "skipped: gangway run follows children from glibc 2.35 on"; exit 77; }
echo '#include <stdint.h>
unsigned la_version(unsigned v) { return v; }' >"$work/other.c"
${CC:-cc} -shared -fPIC -o "$work/other.so" "$work/other.c" || exit 1
unset LD_AUDIT GANGWAY_FOLLOW
# Start with an almost empty environment: follow.c compares all variables except those that gangway run sets.
env -i PATH="$PATH" GANGWAY_TEST_A=ours "GANGWAY_TEST_B=our's too" "$gangway" run -- "$program" "$work/other.so"
