# A library with machine code for one GPU only, on a device that runs PTX.
machine
put "$made/machine-code.so" /opt/app/plugin.so
look GANGWAY_DEVICE=cpu GANGWAY_CPU_CC=8.0 -- /opt/app/plugin.so
