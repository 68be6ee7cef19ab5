# There is no Ollama.
machine
look -- ollama
