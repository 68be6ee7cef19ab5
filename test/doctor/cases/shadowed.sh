# Gangway is installed system-wide, but LD_LIBRARY_PATH leads to a vendor's copy first.
machine
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
put "$made/vendor-cuda.so" /opt/nvidia/lib/libcuda.so.550.54.15
link libcuda.so.550.54.15 /opt/nvidia/lib/libcuda.so.1
text /etc/ld.so.conf.d/00-gangway.conf /usr/lib/gangway
cache <<-EOF
	libcuda.so.1 /usr/lib/gangway/libcuda.so.1
EOF
look LD_LIBRARY_PATH=/opt/nvidia/lib --
