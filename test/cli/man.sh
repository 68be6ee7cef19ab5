#!/bin/sh
# Every subcommand that --help lists has a manual page that is installed, named in gangway(1), and that
# explains every option of the subcommand's own --help: man.sh GANGWAY
gangway=$1
man=$(cd "$(dirname "$0")/../../man" && pwd)
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

commands=$("$gangway" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 3 ] || fail "--help lists only: $commands"
for command in $commands; do
	page=$man/gangway-$command.1
	[ -f "$page" ] || { fail "$command has no manual page"; continue; }
	grep -q "gangway-$command.1" "$man/CMakeLists.txt" || fail "gangway-$command.1 is not installed"
	grep -q "^\.BR gangway-$command (1)" "$man/gangway.1" || fail "gangway(1) does not name gangway-$command(1)"
	"$gangway" "$command" --help >/dev/null || fail "gangway $command --help does not end with 0"
	sed 's/\\-/-/g' "$page" >"${TMPDIR:-/tmp}/gangway-man.$$"
	for option in $("$gangway" "$command" --help | grep -o '^ *--[a-z][a-z-]*' | grep -v -e --help); do
		grep -q -e "$option" "${TMPDIR:-/tmp}/gangway-man.$$" || fail "gangway-$command.1 says nothing of $option"
	done
	rm -f "${TMPDIR:-/tmp}/gangway-man.$$"
done
for page in "$man"/*.1; do
	grep -q "Gangway $("$gangway" --version | sed -n '1s/gangway \([0-9.]*\).*/\1/p')\"" "$page" || fail "$page is of another version"
	if command -v groff >/dev/null; then
		said=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
		[ -z "$said" ] || fail "groff: $said"
	fi
done
exit $failed
