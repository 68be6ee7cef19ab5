#!/bin/sh
# Check that the loader can use our libraries without gangway run: alone.sh GANGWAY PROGRAMS OPEN
#
# Each library loads on its own and has no undefined symbol. A preloaded libcuda.so.1 satisfies every later request for
# that name. ldconfig creates the link from the SONAME. A library still finds a plug-in in its own folder.
gangway=$1
out=$2
open=$3
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
expect() { # case, result, expected result
	[ "$2" = "$3" ] || fail "$1: got: $2; expected: $3"
}

# Load each library on its own with immediate binding, then two libraries in both orders.
real=$(readlink -f "$lib/libcuda.so.1")
for file in "$lib"/*.so "$lib"/*.so.*; do
	[ -L "$file" ] && continue
	expect "loaded alone" "$(LD_BIND_NOW=1 "$open" "$file" 2>&1)" "$file -> $file"
	undefined=$(ldd -r "$file" 2>&1 | grep -E 'undefined|not found')
	[ -z "$undefined" ] || fail "$file: undefined symbol or missing library: $undefined"
done
expect "soft before cuda" "$(LD_BIND_NOW=1 "$open" "$lib/libgangway-soft.so" "$real" | wc -l)" 2
expect "cuda before soft" "$(LD_BIND_NOW=1 "$open" "$real" "$lib/libgangway-soft.so" | grep -c gangway)" 2

# The SONAME of the preloaded library satisfies DT_NEEDED and dlopen; the loader loads no second libcuda.so.1.
for mode in linked opened asked; do
	expect "preloaded, $mode" "$(LD_PRELOAD=$real LD_LIBRARY_PATH=$out/decoy GANGWAY_DEVICE=null "$out/plain/$mode" 2>&1)" \
		"ours 1 decoy 0 version 13000"
done

# ldconfig creates the link libcuda.so.1 from the SONAME.
mkdir "$work/dir"
cp "$real" "$work/dir/"
if command -v ldconfig >/dev/null && ldconfig -n "$work/dir" 2>/dev/null; then
	expect "target of the link that ldconfig creates" "$(readlink "$work/dir/libcuda.so.1")" "$(basename "$real")"
fi

# Our libraries do not interpose libc functions: dlopen sees the real caller and searches that library's RUNPATH.
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
"$work/main" || fail "test setup: the library does not find its plug-in without Gangway"
"$gangway" run --on null -- "$work/main" || fail "under gangway run, the library does not find the plug-in in its own folder"
LD_PRELOAD=$real "$work/main" || fail "with libcuda.so.1 preloaded, the library does not find the plug-in in its own folder"
exit $failed
