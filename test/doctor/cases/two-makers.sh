# Gangway's libcuda.so.1 with a vendor's libnvidia-ml.so.1.
machine
put "$lib/libcuda.so.1" /opt/gangway/libcuda.so.1
put "$made/vendor-ml.so" /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
cache <<-EOF
	libnvidia-ml.so.1 /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
EOF
look LD_LIBRARY_PATH=/opt/gangway --
