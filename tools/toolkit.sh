#!/bin/sh
# toolkit.sh FOLDER: prints the root of a CUDA toolkit (bin/nvcc, include, lib64) for the demo and the tests.
# Takes CUDA_HOME, the toolkit of the nvcc on the PATH, or /usr/local/cuda. If none exists, installs NVIDIA's compiler
# from PyPI into FOLDER (about 300 MB, once). If that fails, too, prints only the reason, on stderr.
folder=$1

for root in "$CUDA_HOME" "$(dirname "$(dirname "$(readlink -f "$(command -v nvcc || echo /none/none/none)")")")" /usr/local/cuda \
	"$folder/root"; do
	[ -x "$root/bin/nvcc" ] && [ -e "$root/include/cuda_runtime.h" ] && { echo "$root"; exit 0; }
done

say() { echo "toolkit: $*" >&2; }
if [ "$(uname -m)" != x86_64 ]; then
	say "nvcc is not installed, and PyPI has none for $(uname -m)"
	exit 1
fi
say "no nvcc on this machine; installing NVIDIA's compiler 13.0 from PyPI into $folder (300 MB, once)"
rm -rf "$folder"
mkdir -p "$folder"
if ! { python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q --disable-pip-version-check \
	nvidia-cuda-nvcc==13.0.88 'nvidia-nvvm==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-runtime==13.0.*' \
	'nvidia-cuda-cccl==13.0.*' 'nvidia-nvml-dev==13.0.*'; } >"$folder/log" 2>&1; then
	say "the installation failed: $(tail -1 "$folder/log") (log: $folder/log)"
	rm -rf "$folder/venv"
	exit 1
fi
root=$(echo "$folder"/venv/lib/python3*/site-packages/nvidia/cu13)
# The wheels lack two names that nvcc passes to the linker.
ln -sf lib "$root/lib64"
[ -e "$root/lib/libcudart.so" ] || ln -s libcudart.so.13 "$root/lib/libcudart.so"
ln -sfn "$root" "$folder/root"
echo "$folder/root"
