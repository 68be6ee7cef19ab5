#!/bin/sh
# once.sh BUILD: a call of the API is defined in one file.  A backend's functions are weak, since what nobody defines is
# NULL in its table: where two files define one, the linker takes either and says nothing.
cd "${1:?which build folder?}/src" || exit 1
seen=$(find . -name '*.o' -exec nm -A --defined-only {} + 2>/dev/null | sed -n 's/^\(.*\.dir\)\/.*:.* W \(.*\)/\1 \2/p')
[ "$(echo "$seen" | wc -l)" -gt 1000 ] || { echo "FAIL: this test sees nothing: $(echo "$seen" | head -n 3)"; exit 1; }
twice=$(echo "$seen" | sort | uniq -d)
[ -z "$twice" ] || { echo "FAIL: defined in more than one file of a target:"; echo "$twice"; exit 1; }
