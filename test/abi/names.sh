#!/bin/sh
# An .api file declares exactly the names that the vendor's library exports, including per-thread twins, older names and
# objects; and a higher version suffix has a higher CUDA version.
#
#	names.sh API LIST
set -eu
api=$1
list=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk '
	$1 !~ /^[0-9]+$/ { next }
	{
		name = $0
		sub(/ = .*|\(.*/, "", name)
		sub(/.*[ *]/, "", name)
		print name
		if ($4 != "-")
			print name "_" substr($4, 1, index($4, ":") - 1)
	}
' "$api" | LC_ALL=C sort >"$tmp/ours"
LC_ALL=C sort "$list" >"$tmp/theirs"

if ! cmp -s "$tmp/ours" "$tmp/theirs"; then
	LC_ALL=C comm -13 "$tmp/ours" "$tmp/theirs" | sed "s|^|exported, but not in $api: |"
	LC_ALL=C comm -23 "$tmp/ours" "$tmp/theirs" | sed "s|^|in $api, but not exported: |"
	exit 1
fi
awk '
	$1 !~ /^[0-9]+$/ || $3 == "-" { next }
	{
		name = $5
		sub(/\(.*/, "", name)
		base = name
		sub(/_v[0-9]+$/, "", base)
		if (base in since && $3 <= since[base]) {
			print name " is since " $3 ", but an older version of it since " since[base]
			bad = 1
		}
		since[base] = $3 + 0
	}
	END { exit bad }
' "$api"
echo "$(wc -l <"$tmp/ours") names"
