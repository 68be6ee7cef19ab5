# A program that needs cuBLAS, of which there is none but ours, and ours is for the CPU device.
machine
program multiplies /opt/app/tool
look GANGWAY_DEVICE=cpu -- /opt/app/tool
