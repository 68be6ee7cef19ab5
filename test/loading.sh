#!/bin/sh
# Every test that doc/loading.md names exists: loading.sh BUILD.  A * in a name stands for anything.
build=$1
doc=$(dirname "$0")/../doc/loading.md
failed=0
# Not by ctest -N: that would empty the log of the ctest that runs us, and with it why tests were skipped.
tests=$(find "$build" -name CTestTestfile.cmake -exec sed -n 's/^add_test(\[=*\[\([^]]*\)\].*/\1/p' {} +)
[ -n "$tests" ] || { echo "FAIL: no test is found"; exit 1; }
# names in backquotes, but for files, commands and functions
grep -o '`[^`]*`' "$doc" | tr -d '`' | grep -E '^[a-z]+[-_.][a-z0-9_.*-]+$' | grep -vE '\.(md|sh|c)$' | sort -u >"$build/loading.names"
while read -r name; do
	pattern=$(echo "$name" | sed 's/[.]/\\./g; s/\*/.*/g')
	echo "$tests" | grep -qxE "$pattern" || { echo "FAIL: there is no test $name"; failed=1; }
done <"$build/loading.names"
[ "$(wc -l <"$build/loading.names")" -ge 60 ] || { echo "FAIL: only $(wc -l <"$build/loading.names") names found"; failed=1; }
for n in $(seq 36); do
	grep -q "^| $n |" "$doc" || { echo "FAIL: problem $n is missing"; failed=1; }
done
exit $failed
