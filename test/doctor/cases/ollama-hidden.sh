# The service's environment hides all GPUs.
machine
ollama c 'Environment=LD_LIBRARY_PATH=/usr/lib/gangway CUDA_VISIBLE_DEVICES=-1 GANGWAY_DEVICE=null'
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
look -- ollama
