/* explain.h - one line on standard error for the user of a program, if gangway run asked for it (GANGWAY_EXPLAIN=1). */
#pragma once

/* Print the text. Only the first call of a process prints. */
void explain_once(const char *text);
