# The stub of our cuBLAS on a run-time path.
machine
put "$lib/stubs/cublas13/libcublas.so.13" /opt/gangway/lib/gangway/stubs/cublas13/libcublas.so.13
look LD_LIBRARY_PATH=/opt/gangway/lib/gangway/stubs/cublas13 --
