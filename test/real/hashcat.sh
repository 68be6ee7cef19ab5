#!/bin/sh
# Check that the distribution's hashcat finds a five-letter word by its MD5 on the CPU device: hashcat.sh GANGWAY
#
# hashcat compiles its CUDA C kernels with NVRTC at start-up, links them with cuLinkAddData, and launches them.
# doc/hashcat.md explains the options.
gangway=$1
here=$(dirname "$0")
nvrtc=$(sh "$here/../helper/wheels.sh" nvidia-cuda-nvrtc-cu12 12.1.105) || exit
sh "$here/../helper/package.sh" hashcat hashcat || exit

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/lib" "$work/home"
for file in "$nvrtc"/*.so.*; do
	ln -s "$file" "$work/lib/"
done
ln -s "$nvrtc/libnvrtc.so.12" "$work/lib/libnvrtc.so"
LD_LIBRARY_PATH=$work/lib HOME=$work/home
XDG_CACHE_HOME=$work/home XDG_DATA_HOME=$work/home
export LD_LIBRARY_PATH HOME XDG_CACHE_HOME XDG_DATA_HOME
printf 'apple' | md5sum | cut -d ' ' -f 1 >"$work/hash"

cd "$work" || exit 1
"$gangway" run --on "${DEVICE:-cpu}" -- hashcat --force --backend-ignore-opencl --potfile-disable --self-test-disable \
	-m 0 -a 3 -O -n 1 -u 32 -T 64 -o "$work/found" hash '?l?l?l?l?l' >"$work/log" 2>&1 </dev/null
status=$?
grep -q ':apple$' "$work/found" 2>/dev/null || { cat "$work/log"; echo "FAIL: hashcat does not find the word, status $status"; exit 1; }
grep 'CUDA API\|^Speed' "$work/log"
