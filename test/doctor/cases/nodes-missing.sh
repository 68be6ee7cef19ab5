# Kernel module and library have the same version, but the device files are missing.
machine
gpu nvidia
text /proc/driver/nvidia/version 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:17:26 UTC 2025' 'GCC version: 12'
put "$made/vendor-cuda.so" /usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06
link libcuda.so.580.65.06 /usr/lib/x86_64-linux-gnu/libcuda.so.1
cache <<-EOF
	libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1
EOF
look --
