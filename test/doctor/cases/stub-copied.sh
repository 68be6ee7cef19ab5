# A stub copied to a system folder.
machine
put "$made/stub-cuda.so" /usr/lib/x86_64-linux-gnu/libcuda.so.1
cache <<-EOF
	libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1
EOF
look --
