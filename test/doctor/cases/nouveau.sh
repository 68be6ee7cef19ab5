# The free driver has the GPU.
machine
gpu nouveau
look --
