# A program needs libcuda.so.1, which only gangway run provides.
machine
program direct /opt/app/tool
look GANGWAY_DEVICE=null -- /opt/app/tool
