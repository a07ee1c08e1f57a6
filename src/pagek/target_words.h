/*
 * What target_word.c, which reads the word, and target.c, which goes there, have
 * in common with those who read the other words of a command line.
 */
#ifndef PAGEK_TARGET_WORDS_H
#define PAGEK_TARGET_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../nodes/nodes.h"

struct words {
	char *why;
	size_t cap;
	nodes_say_cb say;	/* what is wrong with the table */
	void *arg;
};

/* Puts the sentence there and returns the status. */
int words_fail(struct words *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What was given, as safe text; good until the next call. */
const char *words_shown(const char *word);

/* A process has that number, whoever's it is. */
bool words_pid_is_alive(pid_t);

/*
 * The k-th word, or beginning of words, that can be a TARGET on any machine,
 * and what it is; NULL behind the last.
 */
const char *words_fixed(size_t k, const char **what);

#endif
