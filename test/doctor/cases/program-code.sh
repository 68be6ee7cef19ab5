# A library of machine code for one GPU alone, on a device that runs from text.
machine
put "$made/machine-code.so" /opt/app/plugin.so
look GANGWAY_DEVICE=cpu GANGWAY_CPU_CC=8.0 -- /opt/app/plugin.so
