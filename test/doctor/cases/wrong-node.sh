# A libcudart without NVIDIA's version node, which programs need.
machine
put "$made/cudart12-node.so" /opt/shim/libcudart.so.12
look LD_LIBRARY_PATH=/opt/shim --
