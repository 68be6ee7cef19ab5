# Two installations of Gangway; the loader takes the other one.
machine
put "$made/old-cuda.so" /opt/old/lib/gangway/libcuda.so.1
look LD_LIBRARY_PATH=/opt/old/lib/gangway --
