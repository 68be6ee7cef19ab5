# A machine without any CUDA: nothing is wrong.
machine
look --
