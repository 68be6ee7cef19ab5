# Code that the device can run, linked with libcudadevrt, whose PTX is for newer devices only.
machine
put "$made/nesting-code.so" /opt/app/plugin.so
look GANGWAY_DEVICE=cpu GANGWAY_CPU_CC=8.0 -- /opt/app/plugin.so
