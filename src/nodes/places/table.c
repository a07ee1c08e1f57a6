/*
 * Where the table's files are, and what is asked of it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/base.h"
#include "table.h"

#define SYSTEM_FILE "/etc/pagek/nodes"
#define USER_FILE "pagek/nodes"

/* --- files ---------------------------------------------------------------- */

static int
load_file(struct nodes_table *t, size_t *cap, enum nodes_file file,
    const char *path, nodes_say_cb say, void *arg)
{
	struct table_in in = { .file = file, .say = say, .arg = arg };
	char sentence[512], safe[256], *bytes;
	size_t len;
	int r;

	t->path[file] = strdup(path);
	if (t->path[file] == NULL)
		return -ENOMEM;
	in.path = t->path[file];
	r = base_file_read(path, TABLE_FILE_MAX, &bytes, &len);
	if (r == -ENOMEM || r == -ENOENT || r == -ENOTDIR)
		return r == -ENOMEM ? r : 0;
	if (r < 0 && say != NULL) {
		base_safe_text(safe, sizeof safe, path, strlen(path), false);
		snprintf(sentence, sizeof sentence, "cannot read '%s': %s; "
		    "its nodes are not known", safe, base_file_words(r));
		say(arg, sentence);
	}
	if (r < 0)
		return 0;
	r = table_parse(t, cap, &in, bytes, len);
	free(bytes);
	return r;
}

bool
table_path(enum nodes_file file, bool user, char *path, size_t cap)
{
	if (file == NODES_FILE_USER)
		return user && base_config_path(path, cap, USER_FILE) == 0;
	return (size_t)snprintf(path, cap, "%s", SYSTEM_FILE) < cap;
}

int
nodes_table_load(struct nodes_table **out, bool user, nodes_say_cb say,
    void *arg)
{
	struct nodes_table *t = calloc(1, sizeof *t);
	char path[PATH_MAX];
	size_t cap = 0;
	int r = 0;

	if (t == NULL)
		return -ENOMEM;
	/* The one that wins comes first. */
	for (enum nodes_file i = 0; i < NODES_FILES && r == 0; i++)
		if (table_path(i, user, path, sizeof path))
			r = load_file(t, &cap, i, path, say, arg);
	if (r < 0) {
		nodes_table_free(t);
		return r;
	}
	*out = t;
	return 0;
}

void
nodes_table_free(struct nodes_table *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < NODES_FILES; i++)
		free(t->path[i]);
	free(t->entry);
	free(t);
}

/* --- have they changed? --------------------------------------------------- */

void
table_stamp_take(struct table_stamp *s, bool user)
{
	char path[PATH_MAX];
	struct stat st;

	memset(s, 0, sizeof *s);
	for (enum nodes_file i = 0; i < NODES_FILES; i++) {
		if (!table_path(i, user, path, sizeof path) ||
		    stat(path, &st) < 0)
			continue;
		s->file[i] = (struct table_file_stamp){
			.there = true,
			.dev = st.st_dev,
			.ino = st.st_ino,
			.size = (uint64_t)st.st_size,
			.written = st.st_mtim,
			.changed = st.st_ctim,
		};
	}
}

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool
same_file(const struct table_file_stamp *a, const struct table_file_stamp *b)
{
	return a->there == b->there && a->dev == b->dev && a->ino == b->ino &&
	    a->size == b->size && same_time(&a->written, &b->written) &&
	    same_time(&a->changed, &b->changed);
}

bool
table_stamp_same(const struct table_stamp *a, const struct table_stamp *b)
{
	for (size_t i = 0; i < NODES_FILES; i++)
		if (!same_file(&a->file[i], &b->file[i]))
			return false;
	return true;
}

/* --- what is asked of it -------------------------------------------------- */

static int
by_number(const void *key, const void *entry)
{
	const uint16_t *number = key;
	const struct nodes_entry *e = entry;

	return (*number > e->number) - (*number < e->number);
}

const struct nodes_entry *
nodes_table_number(const struct nodes_table *t, uint16_t number)
{
	return t->n == 0 ? NULL : bsearch(&number, t->entry, t->n,
	    sizeof *t->entry, by_number);
}

const struct nodes_entry *
nodes_table_name(const struct nodes_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->entry[i].name, name) == 0)
			return &t->entry[i];
	return NULL;
}

const struct nodes_entry *
nodes_table_local(const struct nodes_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->entry[i].at == NODES_AT_LOCAL)
			return &t->entry[i];
	return NULL;
}

/*
 * Among the names first: a number that is one digit off is another node, and
 * few words look like one.
 */
const struct nodes_entry *
nodes_table_nearest(const struct nodes_table *t, const char *word)
{
	const char **words, *near;
	char (*numbers)[5];
	size_t i;

	words = calloc(2 * t->n + 1, sizeof *words);
	numbers = calloc(t->n + 1, sizeof *numbers);
	near = NULL;
	if (words != NULL && numbers != NULL) {
		for (i = 0; i < t->n; i++) {
			snprintf(numbers[i], sizeof numbers[i], "%04X",
			    t->entry[i].number);
			words[i] = t->entry[i].name;
			words[t->n + i] = numbers[i];
		}
		near = base_nearest(word, words, 2 * t->n);
	}
	for (i = 0; near != NULL && words[i] != near; i++)
		continue;
	free(words);
	free(numbers);
	return near != NULL ? &t->entry[i % t->n] : NULL;
}

uint16_t
nodes_entry_friendly(const struct nodes_entry *e)
{
	switch (e->port) {
	case NODES_PORT_ACNET:
		return (uint16_t)(NODES_PORT_ACNET << 12 | e->trunk << 8 |
		    e->node);
	case NODES_PORT_CLASSIC:
		return (uint16_t)(NODES_PORT_CLASSIC << 12 |
		    (e->number & 0xfff));
	case NODES_PORT_NONE:
		break;
	}
	return 0;
}
