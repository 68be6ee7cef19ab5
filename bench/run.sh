#!/bin/sh
# Run the benchmarks that need no GPU.
build=${1:?which build folder?}
echo "# calls on the null device"
GANGWAY_DEVICE=null "$build/bench/bench-calls" || exit 1
echo "# the same, traced to /dev/null"
GANGWAY_DEVICE=null GANGWAY_TRACE=/dev/null "$build/bench/bench-calls" | grep exported || exit 1
echo "# short work from several threads, each with its own stream, on the CPU device"
GANGWAY_DEVICE=cpu "$build/bench/bench-streams" || exit 1
echo "# calls to a server on the null device, over shared memory and over TCP"
dir=$(mktemp -d) || exit 1
"$build/bin/gangway" serve --on null --listen "unix:$dir/socket" --listen tcp://127.0.0.1:0 2>"$dir/log" &
trap 'kill $!; rm -rf "$dir"' EXIT
until [ "$(grep -c 'listening on' "$dir/log")" = 2 ]; do sleep 0.1; done
sed -n 's/.*listening on //p' "$dir/log" | while read -r address; do
	GANGWAY_DEVICE=$address "$build/bench/bench-remote" | sed "s/^/${address%%:*} /"
done
echo "# kernels on the CPU device against C, OpenMP and PoCL; milliseconds, minimum (median)"
INSTALL=1 "$(dirname "$0")/cpu/run.sh" "$build"
[ $? = 1 ] && exit 1
echo "# start-up cost for a program that does not use CUDA"
"$build/bench/bench-start" "$build/bin/gangway" || exit 1
echo "# On a machine with a GPU: bench/gpu/compare.sh $build nvidia"
