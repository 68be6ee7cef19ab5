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
allow audit
allow blas
allow image
allow ptx
allow wire transport
allow transport
allow backend wire transport image ptx
allow front wire backend
allow server wire transport backend image
allow top transport
allow cli audit backend server wire transport image top
exit $failed
