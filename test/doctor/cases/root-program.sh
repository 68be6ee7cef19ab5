# A program in a system that has Gangway: the table shows the files of that system.
machine
program direct /opt/app/tool
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
look GANGWAY_DEVICE=null -- /opt/app/tool
