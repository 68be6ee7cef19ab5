#!/bin/sh
# Check that --json prints valid JSON and that the text has no control characters, whatever bytes names have: json.sh GANGWAY
gangway=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
evil=$(printf 'a"b\\c\033[31m\002\377\302\233d\340\244\b')
mkdir -p "$dir/$evil"
echo 'no library' >"$dir/$evil/libcuda.so.1"
LD_LIBRARY_PATH=$dir/$evil "$gangway" doctor --root / --json >"$dir/json" 2>"$dir/err"
[ $? = 1 ] || fail "a broken library does not give status 1 with --json"
LD_LIBRARY_PATH=$dir/$evil "$gangway" doctor --root / >"$dir/text" 2>>"$dir/err"
[ $? = 1 ] || fail "a broken library does not give status 1"
LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$dir/text" && fail "control characters in the text"
grep -q 'is not a library' "$dir/text" || fail "the broken file is not reported: $(cat "$dir/text" "$dir/err")"
"$gangway" doctor --nonsense >/dev/null 2>"$dir/err"
[ $? = 2 ] || fail "an unknown option does not give status 2"
"$gangway" doctor --root "$dir/nowhere" >/dev/null 2>"$dir/err"
[ $? = 2 ] || fail "a missing root does not give status 2"
script -qec true /dev/null >/dev/null 2>&1 && {
	script -qec "'$gangway' doctor --root /" /dev/null </dev/null | grep -q "$(printf '\033')" || fail "no colour on a terminal"
	NO_COLOR=1 script -qec "'$gangway' doctor --root /" /dev/null </dev/null | grep -q "$(printf '\033')" && fail "colour with NO_COLOR"
}
grep -q "$(printf '\033')" "$dir/text" && fail "colour in a file"

if command -v python3 >/dev/null; then
	python3 - "$dir/json" <<-'EOF' || fail "invalid JSON or wrong content: $(cat "$dir/json")"
		import json, sys
		d = json.load(open(sys.argv[1], encoding="utf-8"))
		assert d["ok"] is False and d["wrong"] >= 1
		first = d["findings"][0]
		assert first["status"] == "wrong" and "is not a library" in first["text"], first
		assert all(f["fix"] for f in d["findings"] if f["status"] == "wrong")
	EOF
elif command -v jq >/dev/null; then
	jq -e '.ok == false and .findings[0].status == "wrong"' "$dir/json" >/dev/null || fail "invalid JSON: $(cat "$dir/json")"
elif [ $failed = 0 ]; then
	echo "skipped: neither python3 nor jq is installed"
	exit 77
fi
exit $failed
