/*
 * A session as the place where stacks and words come from.
 */
#include "mdd.h"

static bool
session_stack(void *arg, uint64_t caller, struct nodes_stack *out)
{
	return nodes_session_stack(arg, caller, out);
}

static const struct wire_words *
session_words(void *arg, uint64_t frame)
{
	return nodes_session_words(arg, frame);
}

const struct profile_words profile_session_words = {
	.stack = session_stack,
	.words = session_words,
};
