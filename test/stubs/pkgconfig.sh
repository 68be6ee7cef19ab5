#!/bin/sh
# Check linking with pkg-config from a copy of the installation in another folder: pkgconfig.sh PREFIX
prefix=$1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
. "$(dirname "$0")/linker.sh"
sh "$here/../helper/package.sh" pkg-config pkg-config || exit
linker bfd

# Copy the installation: no file in it may depend on the original path.
cp -a "$prefix" "$out/moved" || exit 1
prefix=$out/moved
PKG_CONFIG_PATH=$("$prefix/bin/gangway" config --pkgconfig) || exit 1
export PKG_CONFIG_PATH
for package in gangway gangway-cuda; do
	flags=$(pkg-config --libs "$package") || { fail "pkg-config does not know $package"; continue; }
	pkg-config --validate "$package" || fail "pkg-config --validate rejects $package"
	echo "$package: $flags"
	"$cc" "$use" -shared -fPIC -o "$out/libpart.so" "$here/part.c" $flags || fail "$package: the library does not link"
	"$cc" "$use" -o "$out/program" "$here/program.c" "$out/libpart.so" -Wl,-rpath,"$out" $flags || fail "$package: the program does not link"
	try "$package" "$out/program"
done
printf 'int nvmlInit_v2(void);\nint main(void) { return nvmlInit_v2(); }\n' >"$out/nvml.c"
flags=$(pkg-config --libs gangway-nvml) && "$cc" "$use" -o "$out/nvml" "$out/nvml.c" $flags || fail "gangway-nvml: the program does not link"
"$prefix/bin/gangway" run --on null -- "$out/nvml" || fail "gangway-nvml: nvmlInit_v2 returns $?"
exit $failed
