#!/bin/sh
# Our libraries as the loader sees them, without gangway run: alone.sh GANGWAY PROGRAMS ASK
#
# Each loads alone and has every symbol it wants; a preloaded libcuda.so.1 answers for its name however it is
# asked for; ldconfig makes the name from the SONAME; a plug-in beside a library is still found through it.
gangway=$1
out=$2
ask=$3
lib=$(cd "$(dirname "$gangway")/../lib/gangway" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT LD_PRELOAD
PATH=$PATH:/sbin:/usr/sbin
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
expect() { # what, got, wanted
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# Alone, with all symbols bound at once, and in each order.
real=$(readlink -f "$lib/libcuda.so.1")
for file in "$lib"/*.so "$lib"/*.so.*; do
	[ -L "$file" ] && continue
	expect "alone" "$(LD_BIND_NOW=1 "$ask" "$file" 2>&1)" "$file -> $file"
	undefined=$(ldd -r "$file" 2>&1 | grep -E 'undefined|not found')
	[ -z "$undefined" ] || fail "$file: $undefined"
done
expect "soft before cuda" "$(LD_BIND_NOW=1 "$ask" "$lib/libgangway-soft.so" "$real" | wc -l)" 2
expect "cuda before soft" "$(LD_BIND_NOW=1 "$ask" "$real" "$lib/libgangway-soft.so" | grep -c gangway)" 2

# Preloaded: it satisfies DT_NEEDED and dlopen by its SONAME, and no second one is loaded.
for mode in linked opened asked; do
	expect "preloaded, $mode" "$(LD_PRELOAD=$real LD_LIBRARY_PATH=$out/decoy GANGWAY_DEVICE=null "$out/plain/$mode" 2>&1)" \
		"ours 1 decoy 0 version 13000"
done

# By ldconfig: the link is made from the SONAME, and the cache leads there.
mkdir "$work/dir"
cp "$real" "$work/dir/"
if command -v ldconfig >/dev/null && ldconfig -n "$work/dir" 2>/dev/null; then
	expect "the link that ldconfig makes" "$(readlink "$work/dir/libcuda.so.1")" "$(basename "$real")"
fi

# No function of libc is defined over libc's: dlopen knows who calls it, and finds a plug-in beside its library.
mkdir "$work/app"
echo '#include <dlfcn.h>
void *open_it(void) { return dlopen("libplugin-gw.so", RTLD_NOW); }' >"$work/host.c"
echo 'void *open_it(void);
int main(void) { return open_it() ? 0 : 1; }' >"$work/main.c"
echo 'int nothing;' >"$work/plugin.c"
cc=${CC:-cc}
$cc -shared -fPIC -o "$work/app/libplugin-gw.so" "$work/plugin.c" &&
	$cc -shared -fPIC -o "$work/app/libhost-gw.so" "$work/host.c" -Wl,-soname,libhost-gw.so '-Wl,-rpath,$ORIGIN' -ldl &&
	$cc -o "$work/main" "$work/main.c" "$work/app/libhost-gw.so" "-Wl,-rpath,$work/app" || exit 1
"$work/main" || fail "the test itself: its plug-in is not found"
"$gangway" run --on null -- "$work/main" || fail "under gangway run a plug-in beside its library is not found"
LD_PRELOAD=$real "$work/main" || fail "with libcuda.so.1 preloaded a plug-in beside its library is not found"
exit $failed
