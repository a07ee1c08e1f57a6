/*
 * fuzz_settings: any bytes as a file of settings into which :save puts one
 * more.  It is the first line, and the file what stands below.
 *
 * Claims: what is put in stands there once more or in place of something, and
 * every other byte is as it was; of a file that is read without complaint all
 * that was set stays set, and what was put in holds; a second time nothing is
 * left to do.
 */
#include "../../src/base/base.h"
#include "../../src/pagek/cli/config.h"
#include "fuzz.h"
#include "sentences.h"

/* What the bytes set; said tells whether all of them could be read. */
static void
read_as(struct config *c, const char *bytes, size_t len)
{
	memset(c, 0, sizeof *c);
	c->path[CONFIG_USER] = strdup("mine");
	claim(c->path[CONFIG_USER] != NULL, "there is memory");
	said = 0;
	claim(config_parse(c, CONFIG_USER, bytes, len, hear, NULL) == 0,
	    "memory is all that a file can lack");
}

/* The one setting of that line, if it is one that can be saved; OPTIONS. */
static unsigned
only_setting(const char *line, size_t len, struct config *c)
{
	unsigned id;

	read_as(c, line, len);
	if (said > 0)
		return OPTIONS;
	for (id = 0; id < OPTIONS; id++)
		if (c->value[id].text != NULL)
			break;
	return id < OPTIONS && config_can_hold(c->value[id].text) ? id :
	    OPTIONS;
}

/* Bytes that both begin with, and of the rest those that both end with. */
static void
assert_one_place(const char *was, size_t was_len, const char *is,
    size_t is_len, const char *key, const char *value)
{
	size_t from = 0, behind = 0, put;
	size_t least = was_len < is_len ? was_len : is_len;

	while (from < least && was[from] == is[from])
		from++;
	while (behind < least - from &&
	    was[was_len - 1 - behind] == is[is_len - 1 - behind])
		behind++;
	put = is_len - from - behind;
	claim(put <= strlen(key) + strlen(value) + strlen("\n = \n"),
	    "no more is put in than a line");
	claim(memchr(was + from, '\n', was_len - from - behind) == NULL,
	    "what it is put in place of lies within a line");
}

static void
assert_others_stay(const struct config *was, const struct config *is,
    unsigned id)
{
	/* Of two layouts the one that was said last is wanted. */
	bool layout = id == OPTION_CLASSIC || id == OPTION_WIDE;

	for (unsigned i = 0; i < OPTIONS; i++) {
		const char *a = was->value[i].text, *b = is->value[i].text;

		if (i == id || (layout &&
		    (i == OPTION_CLASSIC || i == OPTION_WIDE)))
			continue;
		claim((a == NULL) == (b == NULL) &&
		    (a == NULL || strcmp(a, b) == 0), "other settings stay");
	}
	claim(was->keys == is->keys, "keys stay");
	for (unsigned i = 0; i < is->keys; i++)
		claim(was->key[i].code == is->key[i].code &&
		    was->key[i].action == is->key[i].action, "keys stay");
	for (unsigned i = 0; i < PAGE_MARKS; i++)
		claim((was->color[i].at.line == 0) ==
		    (is->color[i].at.line == 0) &&
		    memcmp(&was->color[i].style, &is->color[i].style,
		    sizeof is->color[i].style) == 0, "colours stay");
}

/* Only a comment can have made the line longer than one may be. */
static bool
has_long_line(const char *bytes, size_t len)
{
	const char *end;

	for (; len > 0; len -= (size_t)(end - bytes), bytes = end) {
		end = memchr(bytes, '\n', len);
		end = end == NULL ? bytes + len : end + 1;
		if (end - bytes > BASE_LINE_MAX)
			return true;
	}
	return false;
}

static void
assert_holds(const struct config *was, const char *bytes, size_t len,
    unsigned id, const char *value)
{
	struct config is;

	read_as(&is, bytes, len);
	claim(said == 0, "it is read without complaint as before");
	assert_others_stay(was, &is, id);
	/* A layout that is said to be wanted below goes before this one. */
	claim((is.value[id].text != NULL &&
	    strcmp(is.value[id].text, value) == 0) ||
	    id == OPTION_CLASSIC || id == OPTION_WIDE, "it holds");
	config_fini(&is);
}

static void
edit(char **bytes, size_t *len, unsigned id, const char *value)
{
	claim(config_edit(bytes, len, option_name(id), value) == 0,
	    "memory is all that can be lacking");
	claim((*bytes)[*len] == '\0', "it ends");
}

static char *
copy_of(const void *p, size_t len)
{
	char *copy = malloc(len + 1);

	claim(copy != NULL, "there is memory");
	memcpy(copy, p, len);
	copy[len] = '\0';
	return copy;
}

static void
put_in(const char *p, size_t len, unsigned id, const char *value)
{
	char *bytes = copy_of(p, len), *first;
	size_t size = len, again;
	struct config was;
	bool good;

	read_as(&was, p, len);
	good = said == 0;
	edit(&bytes, &size, id, value);
	assert_one_place(p, len, bytes, size, option_name(id), value);
	if (good && !has_long_line(bytes, size))
		assert_holds(&was, bytes, size, id, value);
	config_fini(&was);

	first = copy_of(bytes, size);
	again = size;
	edit(&bytes, &again, id, value);
	claim(again == size && memcmp(bytes, first, size) == 0,
	    "a second time nothing is left to do");
	free(first);
	free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	const uint8_t *end = len > 0 ? memchr(p, '\n', len) : NULL;
	struct config put;
	unsigned id;

	if (end == NULL || len > CONFIG_FILE_MAX)
		return 0;
	id = only_setting((const char *)p, (size_t)(end - p), &put);
	if (id < OPTIONS)
		put_in((const char *)end + 1, (size_t)(p + len - end - 1), id,
		    put.value[id].text);
	config_fini(&put);
	return 0;
}
