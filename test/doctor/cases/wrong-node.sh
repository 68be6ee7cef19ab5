# A libcudart whose names carry another version node than NVIDIA's: programs that were linked with NVIDIA's refuse it.
machine
put "$made/cudart12-node.so" /opt/shim/libcudart.so.12
look LD_LIBRARY_PATH=/opt/shim --
