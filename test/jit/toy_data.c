/* An object that the loader must refuse: it has a variable. */
unsigned kernel(void *w, unsigned entry);

static unsigned calls = 1;

unsigned kernel(void *w, unsigned entry)
{
	(void)w;
	return calls += entry;
}
