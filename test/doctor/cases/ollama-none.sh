# Ollama is not installed.
machine
look -- ollama
