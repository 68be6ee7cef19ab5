# CUDA_VISIBLE_DEVICES hides the only device.
machine
look GANGWAY_DEVICE=null CUDA_VISIBLE_DEVICES=-1 --
