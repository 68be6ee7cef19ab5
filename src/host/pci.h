/* pci.h - the address of a device on the PCI bus, as people write it. */
#pragma once

#include <stdbool.h>

struct pci_address {
	unsigned domain, bus, device, function;
};

/* [domain:]bus:device[.function], in hexadecimal; false: it is none. */
bool pci_parse(const char *text, struct pci_address *a);
