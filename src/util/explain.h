/* explain.h - lines on standard error for the user of a program, if gangway run asked for it (GANGWAY_EXPLAIN=1). */
#pragma once

/* Print the text as one line. A process prints each text once, and no more than 16 of them. */
void explain_once(const char *text);
