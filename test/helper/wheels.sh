#!/bin/sh
# Provide NVIDIA libraries from their PyPI wheels: wheels.sh PACKAGE VERSION
#
# Prints the folder with the shared libraries of the wheel that the tests use. The libraries are kept in
# $GANGWAY_TEST_CACHE; pip downloads missing ones. Exits with 77 and a reason on stderr if that fails: no python3, no pip,
# no package index, no room.
set -u
package=$1
version=$2
case $package in
*-runtime*) set -- 'libcudart.so.*' ;;
*-nvrtc*) set -- 'libnvrtc.so.*' 'libnvrtc-builtins.so.*' ;;
*-cublas*) set -- 'libcublas.so.*' 'libcublasLt.so.*' ;;
*-cufft*) set -- 'libcufft.so.*' ;;
*-nvml-dev*) set -- 'nvml.h' ;;
*) set -- '*.so.*' ;;
esac
cache=${GANGWAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gangway-test}
dir=$cache/$package-$version

skip() {
	echo "skipped: $package $version: $*" >&2
	exit 77
}

[ -e "$dir/complete" ] && { echo "$dir"; exit 0; }
mkdir -p "$cache" 2>/dev/null || skip "cannot write to $cache"
command -v python3 >/dev/null || skip "python3 is not installed"
python3 -m pip --version >/dev/null 2>&1 || skip "pip is not installed"

# One download at a time; parallel tests wait and then find the files.
exec 9>"$cache/lock"
flock 9
[ -e "$dir/complete" ] && { echo "$dir"; exit 0; }
refused=$cache/$package-$version.refused
[ -n "$(find "$refused" -mmin -10 2>/dev/null)" ] && skip "$(tail -n 1 "$refused")"

work=$(mktemp -d "$cache/work.XXXXXX") || skip "cannot write to $cache"
trap 'rm -rf "$work"' EXIT
if ! python3 -m pip download --quiet --no-deps --no-cache-dir --only-binary :all: --retries 1 \
	--dest "$work" "$package==$version" >"$work/log" 2>&1; then
	grep -v '^ *$' "$work/log" | tail -n 1 | cut -c 1-200 >"$refused"
	skip "pip cannot download it: $(cat "$refused")"
fi
mkdir "$work/files"
python3 - "$work" "$@" <<'PYTHON' || skip "cannot unpack the wheel"
import fnmatch, glob, os, shutil, sys, zipfile

work, patterns = sys.argv[1], sys.argv[2:]
for wheel in glob.glob(work + "/*.whl"):
    archive = zipfile.ZipFile(wheel)
    for name in archive.namelist():
        base = os.path.basename(name)
        if base and any(fnmatch.fnmatch(base, p) for p in patterns):
            with archive.open(name) as source, open(os.path.join(work, "files", base), "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
PYTHON
[ -n "$(ls "$work/files")" ] || skip "the wheel has no file that matches $*"
touch "$work/files/complete"
rm -rf "$dir"
mv "$work/files" "$dir"
echo "$dir"
