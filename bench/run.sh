#!/bin/sh
# What can be measured without a GPU: the cost of a call through the library, traced and not.
build=${1:?which build folder?}
echo "# a call on the null device"
GANGWAY_DEVICE=null "$build/bench/bench-calls" || exit 1
echo "# the same, traced to /dev/null"
GANGWAY_DEVICE=null GANGWAY_TRACE=/dev/null "$build/bench/bench-calls" | grep exported || exit 1
echo "# On a machine with a GPU: bench/gpu/compare.sh $build nvidia"
