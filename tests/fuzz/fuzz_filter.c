/*
 * fuzz_filter: any bytes as an expression.
 *
 * Claims: a wrong one has its place in it, and a sentence that is safe text;
 * of a good one the opposite is as good and holds where it does not, and beside
 * what adds nothing it is the same; no text is asked for but those that it wants; and what
 * can stand at the end begins with what is typed of it.
 */
#include <errno.h>
#include <strings.h>

#include "../../src/base/base.h"
#include "../../src/filter/filter.h"
#include "fuzz.h"

struct world {
	const struct filter *f;
	const char *const *text;
};

static const char *
text_of(void *arg, enum filter_field field)
{
	const struct world *w = arg;

	claim(filter_wants(w->f, field), "what is asked for is wanted");
	return w->text[field];
}

static bool
meant(const struct filter *f, unsigned i)
{
	static const char *const nobody[FILTER_FIELDS];
	static const char *const texts[FILTER_FIELDS] = {
		[FILTER_TYPE] = "malloc",
		[FILTER_DESCR] = "ACREQ",
		[FILTER_THREAD] = "\xc3\xa9 b",
		[FILTER_RNOD] = "AB86",
		[FILTER_FUNCTION] = "std::f(int)",
		[FILTER_FILE] = "/a/b.c:7",
		[FILTER_MODULE] = "libz.so",
	};
	struct world w = { .f = f, .text = i % 2 ? texts : nobody };
	struct filter_block asked = { .text = text_of, .arg = &w };

	for (unsigned n = 0; n < FILTER_NUMBERS; n++)
		asked.number[n] = i < 2 ? 0 : i < 4 ? n : UINT64_MAX;
	return filter_matches(f, &asked);
}

static void
look_at_error(const struct filter_error *e, size_t len)
{
	char safe[4 * sizeof e->why];

	claim(e->at <= len, "the place is in the expression");
	claim(memchr(e->why, '\0', sizeof e->why) != NULL && e->why[0] != '\0',
	    "there is a sentence");
	base_safe_text(safe, sizeof safe, e->why, strlen(e->why), false);
	claim(strcmp(safe, e->why) == 0, "a sentence is safe text");
}

/* The same in other words; at its limits there may be no room for them. */
static void
look_at_other(const struct filter *f, const char *before, const char *behind,
    bool opposite)
{
	const char *text = filter_text(f);
	size_t cap = strlen(text) + strlen(before) + strlen(behind) + 1;
	char *other = malloc(cap);
	struct filter_error e;
	struct filter *g;
	int r;

	claim(other != NULL, "there is memory");
	snprintf(other, cap, "%s%s%s", before, text, behind);
	r = filter_new(&g, other, &e);
	claim(r == 0 || (r == -EINVAL && (e.at == FILTER_MAX ||
	    strstr(e.why, "in one another") != NULL)), "it is one again");
	if (r == 0) {
		for (unsigned i = 0; i < 6; i++)
			claim(meant(f, i) == (meant(g, i) != opposite),
			    "it means the same, or the opposite");
		filter_free(g);
	}
	free(other);
}

static void
look_at_words(const char *typed)
{
	size_t from = 0, len = strlen(typed), k;
	const char *word;

	for (k = 0; (word = filter_complete(&filter_blocks, typed, k,
	    &from)) != NULL; k++) {
		claim(k < FILTER_FIELDS, "words are few");
		claim(from <= len, "a word begins in what is typed");
		claim(strncasecmp(word, typed + from, len - from) == 0,
		    "a word begins with what is typed of it");
	}
	claim(from <= len, "a word would begin in what is typed");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	char *text = malloc(len + 1);
	struct filter *f = NULL;
	struct filter_error e;
	int r;

	claim(text != NULL, "there is memory");
	memcpy(text, p, len);
	text[len] = '\0';
	r = filter_new(&f, text, &e);
	claim(r == 0 || r == -EINVAL, "memory is all that can be lacking");
	if (r < 0) {
		look_at_error(&e, strlen(text));
	} else {
		claim(strcmp(filter_text(f), text) == 0, "it is as given");
		if (strspn(text, " \t\r\n") < strlen(text)) {
			look_at_other(f, "!(", ")", true);
			look_at_other(f, "size>=0 and (", ")", false);
			look_at_other(f, "", " | size<0", false);
		}
	}
	look_at_words(text);
	filter_free(f);
	free(text);
	return 0;
}
