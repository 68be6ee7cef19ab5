/* pci.h - PCI addresses as text. */
#pragma once

#include <stdbool.h>

struct pci_address {
	unsigned domain, bus, device, function;
};

/* Parse [domain:]bus:device[.function] in hexadecimal. Returns false if the text is no address. */
bool pci_parse(const char *text, struct pci_address *a);
