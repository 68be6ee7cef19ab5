# Generation A does not use the loader's cache, which has our library.
machine
ollama a
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
cache <<-EOF
	libcuda.so.1 /usr/lib/gangway/libcuda.so.1
EOF
look -- ollama
