#!/bin/sh
# Check that every test named in doc/loading.md exists: loading.sh BUILD. A * in a name matches any text.
build=$1
doc=$(dirname "$0")/../doc/loading.md
failed=0
# Do not use ctest -N: it would empty the log of the running ctest, which contains the reasons of skipped tests.
tests=$(find "$build" -name CTestTestfile.cmake -exec sed -n 's/^add_test(\[=*\[\([^]]*\)\].*/\1/p' {} +)
[ -n "$tests" ] || { echo "FAIL: no tests found"; exit 1; }
# names in backquotes, except files, commands and functions
grep -o '`[^`]*`' "$doc" | tr -d '`' | grep -E '^[a-z]+[-_.][a-z0-9_.*-]+$' | grep -vE '\.(md|sh|c)$' | sort -u >"$build/loading.names"
while read -r name; do
	pattern=$(echo "$name" | sed 's/[.]/\\./g; s/\*/.*/g')
	echo "$tests" | grep -qxE "$pattern" || { echo "FAIL: the test $name does not exist"; failed=1; }
done <"$build/loading.names"
[ "$(wc -l <"$build/loading.names")" -ge 60 ] || { echo "FAIL: only $(wc -l <"$build/loading.names") names found"; failed=1; }
for n in $(seq 36); do
	grep -q "^| $n |" "$doc" || { echo "FAIL: problem $n is missing"; failed=1; }
done
exit $failed
