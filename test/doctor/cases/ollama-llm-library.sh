# OLLAMA_LLM_LIBRARY names a missing folder.
machine
ollama c 'Environment=LD_LIBRARY_PATH=/usr/lib/gangway OLLAMA_LLM_LIBRARY=cpu_avx2'
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
look -- ollama
