# Ollama without CUDA backends.
machine
ollama c
rm -r "$root/usr/local/lib/ollama/cuda_v12"
look -- ollama
