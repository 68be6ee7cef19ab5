# The first generation does not ask the loader's cache, where ours is.
machine
ollama a
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
cache <<-EOF
	libcuda.so.1 /usr/lib/gangway/libcuda.so.1
EOF
look -- ollama
