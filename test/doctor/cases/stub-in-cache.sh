# The stubs folder of a toolkit in ld.so.conf.d.
machine
put "$made/stub-cuda.so" /usr/local/cuda/lib64/stubs/libcuda.so.1
text /etc/ld.so.conf.d/cuda.conf /usr/local/cuda/lib64 /usr/local/cuda/lib64/stubs/
cache <<-EOF
	libcuda.so.1 /usr/local/cuda/lib64/stubs/libcuda.so.1
EOF
look --
