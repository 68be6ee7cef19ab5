/*
 * Programs for the cases: they are looked at, not run, so that there is nothing in them but names.
 *
 *	CALLS		functions of other libraries that it leaves undefined: CALL(cuInit) CALL(cudaMalloc)
 *	WORD		a text that it holds
 */
#define CALL(name) extern int name(void);
CALLS
#undef CALL

#ifdef WORD
__attribute__((used)) static const char word[] = WORD;
#endif

void _start(void);
void _start(void)
{
#define CALL(name) name();
	CALLS
	for (;;)
		;
}
