# The kernel module is loaded, but the driver's library is not installed.
machine
gpu nvidia
text /sys/module/nvidia/version 580.65.06
look --
