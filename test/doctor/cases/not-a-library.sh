# A download that broke off lies where the loader looks first.
machine
text /opt/cuda/libcuda.so.1 '<html>404 Not Found</html>'
look LD_LIBRARY_PATH=/opt/cuda:/opt/other --
