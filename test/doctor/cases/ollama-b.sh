# The second: its runner's backend needs libcuda.so.1, and nothing leads to one.
machine
ollama b
look -- ollama
