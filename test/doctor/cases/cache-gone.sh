# The loader's cache names a driver that was removed.
machine
cache <<-EOF
	libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1
EOF
look --
