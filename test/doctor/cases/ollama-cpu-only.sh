# Ollama without its CUDA folders.
machine
ollama c
rm -r "$root/usr/local/lib/ollama/cuda_v12"
look -- ollama
