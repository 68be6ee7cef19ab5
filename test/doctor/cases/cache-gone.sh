# The cache leads to a driver that has been removed.
machine
cache <<-EOF
	libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1
EOF
look --
