# Text that the device can run, and beside it a piece with nothing in it, as nvcc makes them.
machine
put "$made/text-code.so" /opt/app/plugin.so
look GANGWAY_DEVICE=cpu GANGWAY_CPU_CC=8.0 -- /opt/app/plugin.so
