#!/bin/sh
# Check the manual pages: man.sh GANGWAY
#
# Every subcommand has a page that is installed, listed in gangway(1), and has the same options as its --help. The pages
# explain every environment variable that the sources read.
gangway=$1
man=$(cd "$(dirname "$0")/../../man" && pwd)
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
options() { sed 's,install --system,,' | grep -oE -- '(^|[^-a-z])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sed 's/-$//' | sort -u; }

commands=$("$gangway" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 3 ] || fail "--help lists only: $commands"
for command in $commands; do
	page=$man/gangway-$command.1
	[ -f "$page" ] || { fail "$command has no manual page"; continue; }
	grep -q "gangway-$command.1" "$man/CMakeLists.txt" || fail "gangway-$command.1 is not installed"
	grep -q "^\.BR gangway-$command (1)" "$man/gangway.1" || fail "gangway(1) does not name gangway-$command(1)"
	"$gangway" "$command" --help >/dev/null || fail "gangway $command --help fails"
	"$gangway" "$command" --help | options >"$work/help"
	sed 's/\\-/-/g' "$page" | options >"$work/page"
	for option in $(comm -23 "$work/help" "$work/page"); do
		fail "gangway-$command.1 does not explain $option"
	done
	for option in $(comm -13 "$work/help" "$work/page"); do
		case $command:$option in
		cdi:--group-add) ;; # an option of podman
		*) fail "gangway-$command.1 explains $option, which gangway $command --help does not list" ;;
		esac
	done
done
for page in "$man"/*.1; do
	grep -q "Gangway $("$gangway" --version | sed -n '1s/gangway \([0-9.]*\).*/\1/p')\"" "$page" || fail "$page has another version number"
	if command -v groff >/dev/null; then
		said=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
		[ -z "$said" ] || fail "groff: $said"
	fi
done
for variable in $(grep -rhoE '"GANGWAY_[A-Z_]+("|=)' "$man/../src" | tr -d '"=' | sort -u); do
	grep -q "$variable" "$man"/*.1 || fail "no manual page explains $variable"
done
exit $failed
