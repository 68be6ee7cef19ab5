# An incomplete download is first on the search path.
machine
text /opt/cuda/libcuda.so.1 '<html>404 Not Found</html>'
look LD_LIBRARY_PATH=/opt/cuda:/opt/other --
