# A stub is first on the service's path.
machine
ollama c 'Environment=LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:/usr/lib/gangway'
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
put "$made/stub-cuda.so" /usr/local/cuda/lib64/stubs/libcuda.so.1
look -- ollama
