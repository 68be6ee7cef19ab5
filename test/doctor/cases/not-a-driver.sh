# A libcuda.so.1 that is another library.
machine
put "$made/cudart12.so" /opt/lib/libcuda.so.1
look LD_LIBRARY_PATH=/opt/lib --
