#!/bin/sh
# The plug-in exports one symbol, takes none from another LLVM or C++ library, and needs the C library alone:
# exports.sh PLUGIN
failed=0
expect() { # what, found, wanted
	[ "$2" = "$3" ] && return
	echo "FAIL: $1: $2; expected $3"
	failed=1
}
expect "exported symbols" "$(nm -D --defined-only "$1" | awk '{ print $NF }' | paste -sd ' ')" gangway_jit
expect "unique symbols" "$(readelf -W --dyn-syms "$1" | grep -c UNIQUE)" 0
expect "symbols taken from C++ libraries and LLVM" "$(nm -D --undefined-only "$1" | grep -cE ' (_Z|LLVM|llvm|__cxa_[^f])')" 0
expect "needed libraries" "$(readelf -dW "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*)\.so\.' | paste -sd ' ')" ""
exit $failed
