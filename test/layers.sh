#!/bin/sh
# The picture in doc/design.md stays true: a folder includes only what it may.
cd "$(dirname "$0")/../src" || exit 1
failed=0
allow() { # folder, then the folders it may include
	folder=$1
	shift
	pattern=$(printf '%s|' "$folder" util abi gen "$@")
	bad=$(grep -rnE '^#include "' "$folder" 2>/dev/null | grep -vE "#include \"(${pattern%|})/")
	[ -z "$bad" ] || { echo "$folder may not include:"; echo "$bad"; failed=1; }
}
allow util
allow cuda
allow host cuda
allow audit
allow blas
allow image
allow ptx
allow loader audit image
allow wire transport cuda
allow transport
allow backend wire transport image ptx cuda host loader
allow front wire backend cuda transport
allow server wire transport backend image ptx cuda host
allow top transport
allow cli audit backend server wire transport image top cuda host loader
exit $failed
