# Generation B: the backend needs libcuda.so.1, which is not found.
machine
ollama b
look -- ollama
