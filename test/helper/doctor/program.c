/*
 * Programs for the cases. doctor inspects them and does not run them. They contain only names:
 *
 *	CALLS		functions of other libraries: CALL(cuInit) CALL(cudaMalloc)
 *	WORD		a text in the file
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
