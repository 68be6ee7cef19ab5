#!/bin/sh
# Regenerate the binary files in image/ with nvcc; odd.ptx is written by hand. The files are small on purpose.
set -e
cd "$(dirname "$0")"
make() { # file, options
	out=image/$1
	shift
	nvcc "$@" -o "$out" axpy.cu
}
make sm_90.cubin -cubin -arch=sm_90
make axpy.ptx -ptx -arch=compute_75
make ptx-lz4.fatbin -fatbin --compress-mode=speed -gencode arch=compute_75,code=compute_75
make ptx-zstd.fatbin -fatbin --compress-mode=size -gencode arch=compute_75,code=compute_75
make special-first.fatbin -fatbin --compress-mode=size -gencode arch=compute_75,code=compute_75 \
	-gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=sm_90 -gencode arch=compute_100f,code=sm_100f
make rdc-lz4.fatbin -fatbin --compress-mode=speed -Xfatbin -compress-all -rdc=true \
	-gencode 'arch=compute_80,code=[compute_80,sm_80]'
