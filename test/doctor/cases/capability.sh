# An invalid setting of the CPU device.
machine
look GANGWAY_DEVICE=cpu GANGWAY_CPU_CC=13.0 --
