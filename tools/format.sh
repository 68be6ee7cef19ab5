#!/bin/sh
# format.sh [--check]: applies .clang-format to every C file of the tree; --check changes nothing and fails if a file
# differs. clang-format prints different code in different versions, so exactly version 19 counts.
cd "$(dirname "$0")/.." || exit 1
format=$(command -v clang-format-19) || format=$(command -v clang-format)
if [ -z "$format" ] || ! "$format" --version | grep -q 'version 19\.'; then
	echo "skipped: no clang-format 19 here; install the Debian package clang-format-19"
	exit 77
fi
files=$(git ls-files '*.c' '*.h') || exit 77
if [ "$1" = --check ]; then
	echo "$files" | xargs "$format" --dry-run --Werror || { echo "run tools/format.sh"; exit 1; }
else
	echo "$files" | xargs "$format" -i
fi
