# PTX that the device can run, and an empty fatbin as nvcc creates it.
machine
put "$made/text-code.so" /opt/app/plugin.so
look GANGWAY_DEVICE=cpu GANGWAY_CPU_CC=8.0 -- /opt/app/plugin.so
