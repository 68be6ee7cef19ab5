# Generation C: the backend was not built for the device's compute capability.
machine
ollama c 'Environment="LD_LIBRARY_PATH=/usr/lib/gangway" GANGWAY_DEVICE=cpu "GANGWAY_CPU_CC=8.0"'
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
look -- ollama
