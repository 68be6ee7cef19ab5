#!/bin/sh
# runtime.sh PROGRAM: runs it with NVIDIA's CUDA runtime, whose device properties it compares as well.
status=0
dir=$(sh "$(dirname "$0")/../helper/wheels.sh" nvidia-cuda-runtime 13.0.96 2>&1) || status=$?
[ $status -eq 0 ] || { echo "$dir"; exit $status; }
exec "$1" "$dir/libcudart.so.13"
