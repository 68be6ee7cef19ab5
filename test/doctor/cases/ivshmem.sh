# A virtual machine shares memory with its host, and its kernel is locked down.
machine
text /sys/bus/pci/devices/0000:00:05.0/vendor 0x1af4
text /sys/bus/pci/devices/0000:00:05.0/device 0x1110
text /sys/kernel/security/lockdown 'none integrity [confidentiality]'
text /sys/class/dmi/id/sys_vendor QEMU
look --
