# No problem: the service finds our library and a device that the backend was built for.
machine
ollama c 'Environment=LD_LIBRARY_PATH=/usr/lib/gangway' 'Environment=GANGWAY_DEVICE=cpu' 'Environment=GANGWAY_CPU_CC=7.5'
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
look -- ollama
