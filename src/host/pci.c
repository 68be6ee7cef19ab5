/* Parse PCI addresses. */
#include "host/pci.h"

#include <stdio.h>

bool pci_parse(const char *text, struct pci_address *a)
{
	char rest;

	*a = (struct pci_address){0};
	if (sscanf(text, "%x:%x:%x.%x%c", &a->domain, &a->bus, &a->device, &a->function, &rest) == 4)
		return true;
	a->function = 0;
	if (sscanf(text, "%x:%x:%x%c", &a->domain, &a->bus, &a->device, &rest) == 3)
		return true;
	a->domain = 0;
	if (sscanf(text, "%x:%x.%x%c", &a->bus, &a->device, &a->function, &rest) == 3)
		return true;
	a->function = 0;
	return sscanf(text, "%x:%x%c", &a->bus, &a->device, &rest) == 2;
}
