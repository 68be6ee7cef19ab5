#!/bin/sh
# Run all tests that need a GPU, in about eight minutes; bench/gpu/compare.sh measures.
#
#	test/gpu/all.sh BUILD [FOLDER]		FOLDER receives the complete outputs
build=$(cd "${1:?which build folder?}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
logs=${2:-$(mktemp -d)}
failed=0
for what in passthrough smi libraries sweep eager ptx calls cleared; do
	began=$(date +%s)
	"$here/$what.sh" "$build" >"$logs/$what.txt" 2>&1
	status=$?
	[ $status = 0 ] || [ $status = 77 ] || failed=1
	echo "== $what: status $status, $(($(date +%s) - began)) s"
	grep -E '^(ok|FAIL|skip|note|same)' "$logs/$what.txt"
done
exit $failed
