#!/bin/sh
# Collect the files of a build that the scripts of test/gpu and bench/gpu need, in a folder that is small enough to copy
# to a machine with a GPU that cannot build Gangway: test/gpu/pack.sh BUILD FOLDER. BUILD is of the preset release.
build=$(cd "${1:?which build folder?}" && pwd) || exit 1
to=${2:?into which folder?}
cmake --build "$build" || exit 1
rm -rf "$to"
mkdir -p "$to"
cp -a "$build/bin" "$build/lib" "$to/"
rm -rf "$to/lib/gangway/cpu" # needs LLVM
for folder in bench test/cpu test/gpu test/ptx test/remote test/soft; do
	mkdir -p "$to/$folder"
	find "$build/$folder" -maxdepth 1 -type f -executable ! -name 'soft_*' -exec cp {} "$to/$folder/" \;
done
find "$to" -name '*.a' -delete
find "$to" -type f -exec sh -c 'strip "$@" 2>/dev/null' sh {} +
du -sh "$to"
