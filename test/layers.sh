#!/bin/sh
# layers.sh [BUILD]: check that each folder uses only the folders that doc/design.md allows.
#
# Checks #include lines; with a build folder also the symbols of its object files: a symbol that a folder leaves undefined
# must be defined in the folder itself or in one that it may use.  util, abi and gen are for all.
src=$(cd "$(dirname "$0")/../src" && pwd) || exit 1
build=$1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# folder: folders of src/ that it may use
cat >"$tmp/rules" <<'RULES'
util:
cuda:
host:      cuda
audit:
blas:
cudart:
image:
ptx:
jitlink:   image ptx
loader:    audit image
transport:
wire:      transport cuda
backend:   wire transport image ptx cuda host loader blas
front:     wire backend cuda transport
server:    wire transport backend image ptx cuda host
top:       transport
cli:       audit backend server wire transport image ptx top cuda host loader
RULES

# room: rooms of the same folder that it may use.  Rooms without a line may use all; files beside the rooms are not checked.
cat >"$tmp/rooms" <<'ROOMS'
backend/remote/session: wait memory hostmem graph code
backend/remote/wait:    session memory hostmem copy graph
backend/remote/hostmem: session wait memory graph
backend/remote/memory:  session wait hostmem graph
backend/remote/copy:    session wait memory hostmem graph
backend/remote/code:    session wait memory hostmem
backend/soft/code:      core memory stream
backend/soft/copy:      check core memory stream texture
backend/soft/texture:   core memory stream code
ptx/analysis:           parse
ptx/check:              parse
server/daemon:          worker status quota sandbox
server/status:          daemon worker
server/worker:          daemon session wait nvml quota sandbox
server/nvml:            session quota
ROOMS

report() { # heading, lines
	[ -z "$2" ] && return
	printf '%s\n%s\n' "$1" "$2"
	failed=1
}

# ---- includes ----

while IFS=: read -r folder may; do
	pattern=$(printf '%s|' "$folder" util abi gen $may)
	report "$folder may not include:" "$(cd "$src" &&
		grep -rnE '^#include "' "$folder" 2>/dev/null | grep -vE "#include \"(${pattern%|})/")"
done <"$tmp/rules"

while IFS=: read -r room may; do
	parent=${room%/*}
	pattern=$(printf '%s|' "${room##*/}" $may)
	report "$room may not include:" "$(cd "$src" &&
		grep -rnE "^#include \"$parent/[a-z_]+/" "$room" 2>/dev/null | grep -vE "#include \"$parent/(${pattern%|})/")"
done <"$tmp/rooms"

[ -n "$build" ] || exit $failed

# ---- symbols ----

# Lines "folder/file.c U|D symbol".  An object without a source file is a leftover of an earlier build.
find "$build/src" -name '*.c.o' -print0 | xargs -0 nm -A 2>/dev/null |
	sed -nE "s|^$build/src/||; s|CMakeFiles/[^/]*\.dir/||; s|[^/:]*/__/||g; s|\.o:| |; p" |
	awk '$(NF - 1) == "U" { print $1, "U", $NF } $(NF - 1) ~ /^[TDBRCVW]$/ { print $1, "D", $NF }' | sort -u |
	awk -v src="$src" '!($1 in there) { there[$1] = (getline line < (src "/" $1)) >= 0; close(src "/" $1) } there[$1]' >"$tmp/symbols"
[ -s "$tmp/symbols" ] || { echo "no object files in $build/src"; exit 1; }

report "symbols from folders that may not be used:" "$(awk '
	function top(path) { return substr(path, 1, index(path, "/") - 1) }
	function room(path, parts, n) { # the folder of a file, at most three deep for backend, two for others
		n = split(path, parts, "/")
		if (parts[1] == "backend" && n > 3) return parts[1] "/" parts[2] "/" parts[3]
		return n > 2 ? parts[1] "/" parts[2] : parts[1]
	}
	function parent(r) { sub("/[^/]*$", "", r); return r }
	FILENAME ~ /rules$/ { split($0, half, ":"); known[half[1]]; n = split(half[2], f, " ")
		for (i = 1; i <= n; i++) may[half[1], f[i]]; next }
	FILENAME ~ /rooms$/ { split($0, half, ":"); checked[half[1]]; n = split(half[2], f, " ")
		for (i = 1; i <= n; i++) may[half[1], parent(half[1]) "/" f[i]]; next }
	function allowed(user, definer, a, b) {
		if (top(user) != top(definer)) return !(top(user) in known) || top(definer) == "util" || ((top(user), top(definer)) in may)
		a = room(user); b = room(definer)
		return a == b || !(a in checked) || b == parent(a) || parent(a) != parent(b) || ((a, b) in may)
	}
	$3 ~ /^(cu|nvml|cublas|cuda|__cuda)[A-Z]/ || $3 ~ /^(mem(cpy|set|move|cmp)|strlen)$/ { next } # public names, and names of libc
	$2 == "D" { defined[$3] = defined[$3] " " $1 }
	$2 == "U" { user[++uses] = $1; used[uses] = $3 }
	END {
		for (u = 1; u <= uses; u++) {
			n = split(defined[used[u]], definer, " ")
			good = !n
			for (i = 1; i <= n && !good; i++) good = allowed(user[u], definer[i])
			if (!good) print "\t" user[u] " uses " used[u] " of " definer[1]
		}
	}' "$tmp/rules" "$tmp/rooms" "$tmp/symbols")"
exit $failed
