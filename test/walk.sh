#!/bin/sh
# doc/design.md follows two calls through the tree. Check that every function it names is defined in the named folder.
#
#	walk.sh SOURCE_DIR
cd "$1" || exit 1
failed=0
steps=$(sed -n 's/^| `\(src[^`]*\)` | `\([A-Za-z0-9_]*\)` | .*/\1:\2/p' doc/design.md)
for step in $steps; do
	folder=${step%%:*} function=${step#*:}
	# a definition: the name at the start of a declarator, no semicolon at the end of the line
	if ! grep -qE "^[A-Za-z].*[ *]$function\([^;]*$" "$folder"/*.c; then
		echo "FAIL: $function is not defined in $folder"
		failed=1
	fi
done
[ "$(echo "$steps" | wc -l)" -ge 20 ] || { echo "FAIL: doc/design.md has only $(echo "$steps" | wc -l) steps"; failed=1; }
exit $failed
