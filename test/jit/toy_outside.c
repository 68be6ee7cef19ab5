/* An object that the loader must refuse: it calls a function that it does not define. */
unsigned outside(unsigned n);
unsigned kernel(void *w, unsigned entry);

unsigned kernel(void *w, unsigned entry)
{
	(void)w;
	return outside(entry) + 1;
}
