# The stubs folder of a toolkit in LD_LIBRARY_PATH.
machine
put "$made/stub-cuda.so" /usr/local/cuda/lib64/stubs/libcuda.so
link libcuda.so /usr/local/cuda/lib64/stubs/libcuda.so.1
look LD_LIBRARY_PATH=/usr/local/cuda/lib64:/usr/local/cuda/lib64/stubs --
