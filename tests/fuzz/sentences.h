/*
 * What is said of a file that users write: counted, and claimed to be safe text
 * of one line.
 */
#ifndef TESTS_FUZZ_SENTENCES_H
#define TESTS_FUZZ_SENTENCES_H

#include "../../src/base/base.h"
#include "fuzz.h"

static unsigned said;

static void
hear(void *arg, const char *sentence)
{
	char safe[4096];

	(void)arg;
	said++;
	base_safe_text(safe, sizeof safe, sentence, strlen(sentence), false);
	claim(strcmp(safe, sentence) == 0, "a sentence is safe text");
}

#endif
