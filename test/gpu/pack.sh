#!/bin/sh
# What the scripts of test/gpu and bench/gpu need of a build, in a folder small enough to take to a machine with a GPU
# that cannot build Gangway itself: test/gpu/pack.sh BUILD FOLDER, where BUILD is of the preset release.
build=$(cd "${1:?which build folder?}" && pwd) || exit 1
to=${2:?into which folder?}
cmake --build "$build" --target cuda nvml gangway gangway-soft gangway-audit gangway-follow gpu-driver bench-nvml \
	bench-remote ptx-run ptx-video || exit 1
rm -rf "$to"
mkdir -p "$to/test/gpu" "$to/test/ptx" "$to/bench"
cp -a "$build/bin" "$build/lib" "$to/"
cp "$build/test/gpu/gpu-driver" "$to/test/gpu/"
cp "$build/test/ptx/ptx-run" "$build/test/ptx/ptx-video" "$to/test/ptx/"
cp "$build/bench/bench-nvml" "$build/bench/bench-remote" "$to/bench/"
find "$to" -name '*.a' -delete
rm -rf "$to/lib/gangway/cpu" # it needs LLVM
find "$to" -type f -exec sh -c 'strip "$@" 2>/dev/null' sh {} +
du -sh "$to"
