/* tell.h - a word to the user of a program, where `gangway run` has asked for it (GANGWAY_EXPLAIN=1): once a process. */
#pragma once

void tell_user(const char *text);
