#!/bin/sh
# apigen: its output for small descriptions equals the golden files, and a bad description fails with the right line
# number and message.  UPDATE=1 rewrites the golden files: check the diff.
apigen=$1
cd "$(dirname "$0")" || exit 1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
failed=0

for golden in *.golden; do # API.MODE.golden
	api=${golden%%.*}.api
	mode=${golden#*.}
	mode=${mode%.golden}
	case $mode in
	header | table) arg=soft ;;
	local-*) arg=front ;;
	coverage*) arg="soft=small.defs" ;;
	*) arg= ;;
	esac
	"$apigen" "$mode" "$api" $arg >"$out/o" 2>&1
	if [ -n "$UPDATE" ]; then
		cp "$out/o" "$golden"
	elif ! diff -u "$golden" "$out/o"; then
		echo "FAIL: apigen $mode differs from $golden"
		failed=1
	fi
done

for api in bad/*.api; do
	want="$api:$(cat "${api%.api}.err")"
	got=$("$apigen" ops "$api" 2>&1 >/dev/null)
	status=$?
	if [ $status -ne 1 ] || [ "$got" != "$want" ]; then
		printf 'FAIL: %s\n  wanted (1) %s\n  got    (%d) %s\n' "$api" "$want" $status "$got"
		failed=1
	fi
done
exit $failed
