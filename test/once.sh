#!/bin/sh
# once.sh BUILD: check that each API function is defined in one file. A backend's functions are weak, because the ops
# table has NULL for undefined ones. If two files define a function, the linker silently takes either. An object without a
# source file is a leftover of an earlier build.
src=$(cd "$(dirname "$0")/../src" && pwd) || exit 1
cd "${1:?which build folder?}/src" || exit 1
seen=$(find . -name '*.o' | awk -v src="$src" '{
		file = substr($0, 3)
		sub(/CMakeFiles\/[^\/]*\.dir\//, "", file)
		sub(/\.o$/, "", file)
	}
	file ~ /__\// || (getline line < (src "/" file)) >= 0 { print; close(src "/" file) }' |
	xargs nm -A --defined-only 2>/dev/null | sed -n 's/^\(.*\.dir\)\/.*:.* W \(.*\)/\1 \2/p')
[ "$(echo "$seen" | wc -l)" -gt 1000 ] || { echo "FAIL: nm lists too few functions: $(echo "$seen" | head -n 3)"; exit 1; }
twice=$(echo "$seen" | sort | uniq -d)
[ -z "$twice" ] || { echo "FAIL: defined in more than one file of a target:"; echo "$twice"; exit 1; }
