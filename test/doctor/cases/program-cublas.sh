# A program needs cuBLAS, and only Gangway's is installed, which is for the CPU device.
machine
program multiplies /opt/app/tool
look GANGWAY_DEVICE=cpu -- /opt/app/tool
