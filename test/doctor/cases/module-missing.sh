# A GPU and a driver library, but the kernel module is not loaded.
machine
gpu ''
put "$made/vendor-cuda.so" /usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06
link libcuda.so.580.65.06 /usr/lib/x86_64-linux-gnu/libcuda.so.1
cache <<-EOF
	libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1
EOF
look --
