#!/bin/sh
# Our runtime exports the names of NVIDIA's, with the same version nodes: symbols.sh OURS PACKAGE VERSION
#
# NVIDIA's comes from its wheel. Exits with 77 if that is not available.
ours=$1
command -v nm >/dev/null || { echo "skipped: nm is not installed"; exit 77; }
dir=$("$(dirname "$0")/../helper/wheels.sh" "$2" "$3") || exit
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
names() { nm -D --defined-only "$1" | sed 's/^[0-9a-f]* //' | LC_ALL=C sort; }
names "$dir/$(basename "$ours")" >"$tmp/theirs"
names "$ours" >"$tmp/ours"
# - what NVIDIA's exports and ours does not, + the opposite
diff -u "$tmp/theirs" "$tmp/ours" || exit 1
grep -q "cudaMalloc@@$(basename "$ours")\$" "$tmp/ours" || { echo "cudaMalloc has no version node"; exit 1; }
echo "$(wc -l <"$tmp/ours") names"
