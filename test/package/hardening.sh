#!/bin/sh
# Check that every program and library of an installation is hardened and has a build note: hardening.sh PREFIX
prefix=$1
failed=0
fail() {
	echo "FAIL: $file: $*"
	failed=1
}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
build=$("$prefix/bin/gangway" version | head -n 1)
count=0
for file in $(find "$prefix" -type f); do
	[ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
	count=$((count + 1))
	readelf -hldW "$file" >"$out/elf" 2>/dev/null
	note=$(readelf -p .note.gangway "$file" 2>/dev/null)
	case $file in */stubs/*) wanted="$build stub" ;; *) wanted=$build ;; esac
	echo "$note" | grep -q "$wanted\$" || fail "the build note is '$note', expected '$wanted'"
	readelf -n "$file" | grep -q 'Build ID' || fail "has no build id"
	grep -q 'GNU_STACK.* RW ' "$out/elf" || fail "has an executable stack"
	grep -E 'LOAD.*RWE' "$out/elf" && fail "has a segment that is writable and executable"
	grep -q TEXTREL "$out/elf" && fail "has text relocations"
	grep -E 'R(UN)?PATH' "$out/elf" && fail "has a run-time path"
	grep -q 'Type: *DYN' "$out/elf" || fail "is not position-independent"
	readelf -SW "$file" | grep -q '\.symtab' && fail "is not stripped"
	strings -a "$file" | grep -E "^$(cd "$(dirname "$0")/../.." && pwd)/" && fail "contains the path of the source tree"
	LD_LIBRARY_PATH=$prefix/lib/gangway ldd -r "$file" >"$out/ldd" 2>&1 # cuBLAS needs our driver
	case $file in */vectoradd) ;; *) grep -E 'undefined symbol|not found' "$out/ldd" && fail "has undefined symbols or missing libraries" ;; esac
	case $file in */stubs/*) continue ;; esac
	grep -q GNU_RELRO "$out/elf" || fail "has no RELRO segment"
	grep -q 'BIND_NOW\|FLAGS.*NOW' "$out/elf" || fail "is bound lazily"
	readelf -W --dyn-syms "$file" >"$out/symbols"
	if grep -q NEEDED "$out/elf"; then # without libc there are no functions to call
		grep -q __stack_chk_fail "$out/symbols" || fail "has no stack protector"
		case $file in */cudart/*) ;; # calls no function that has a fortified form
		*) grep -q '_chk@\|_chk$' "$out/symbols" || fail "has no fortified calls" ;;
		esac
	fi
	if [ "$(uname -m)" = x86_64 ]; then
		objdump -d "$file" | grep -c endbr64 >"$out/count"
		[ "$(cat "$out/count")" -ge 2 ] || fail "was not built with -fcf-protection"
	fi
done
echo "$count files"
[ $count -ge 5 ] || { echo "FAIL: only $count files in $prefix"; failed=1; }
exit $failed
