#!/bin/sh
# Compiles our .cu files with nvcc and runs all passes on the PTX. Usage: nvcc.sh PTXDUMP FOLDER
dump=$1 folder=$2
command -v nvcc >/dev/null || { echo "no nvcc"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0
for cu in "$folder"/*.cu; do
	archs="75 80 90"
	case $cu in */library.cu) archs=80 ;; esac
	for arch in $archs; do
		if ! nvcc -ptx -std=c++17 -arch=compute_$arch "$cu" -o "$tmp/x.ptx" 2>"$tmp/log"; then
			echo "skipped $cu for $arch: $(head -1 "$tmp/log")"
			continue
		fi
		"$dump" "$tmp/x.ptx" pcdluf >/dev/null || { echo "failed: $cu for $arch"; bad=1; }
	done
done
exit $bad
