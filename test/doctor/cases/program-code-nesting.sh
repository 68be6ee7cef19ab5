# Code that the device can run, linked with NVIDIA's part for kernels that start kernels, whose text is for newer devices alone.
machine
put "$made/nesting-code.so" /opt/app/plugin.so
look GANGWAY_DEVICE=cpu GANGWAY_CPU_CC=8.0 -- /opt/app/plugin.so
