#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "../../base/base.h"
#include "table.h"

#define WORDS_MAX 8		/* of a line */
#define TRUNK_MAX 15		/* four bits of a friendly number */
#define PATH_MAX_UNIX sizeof(((struct sockaddr_un *)0)->sun_path)

struct line {
	struct table_in *in;
	unsigned no;
	struct nodes_entry *e;
	const char *words[WORDS_MAX];
	size_t n;
};

static bool refuse(struct line *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports a mistake; returns false. */
static bool
refuse(struct line *l, const char *fmt, ...)
{
	char sentence[512], path[256];
	struct table_in *in = l->in;
	size_t len = 0;
	va_list ap;

	if (in->say == NULL || ++in->said > TABLE_SAID_MAX)
		return false;
	base_safe_text(path, sizeof path, in->path, strlen(in->path), false);
	base_append(sentence, sizeof sentence, &len, "%s:%u: ", path, l->no);
	va_start(ap, fmt);
	vsnprintf(sentence + len, sizeof sentence - len, fmt, ap);
	va_end(ap);
	in->say(in->arg, sentence);
	return false;
}

static bool
take_number(struct line *l, const char *word)
{
	if (nodes_parse_number(word, strlen(word), &l->e->number) &&
	    l->e->number != 0)
		return true;
	return refuse(l, "'%s' is not a node number: write four hexadecimal "
	    "digits, as in 0590, and not 0000", base_shown(word));
}

/* ASCII letters, digits and - _ ., and safe text of other languages. */
static bool
is_name(const char *word)
{
	static const char ascii[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	char safe[NODES_NAME_MAX + 1];
	size_t len = strlen(word), i;
	uint16_t number;

	if (len > NODES_NAME_MAX || strspn(word, "0123456789") == len ||
	    word[0] == '-' || word[0] == '.' || strcmp(word, "local") == 0 ||
	    nodes_parse_number(word, len, &number))
		return false;
	for (i = 0; i < len; i++)
		if ((unsigned char)word[i] < 0x80 &&
		    strchr(ascii, word[i]) == NULL)
			return false;
	base_safe_text(safe, sizeof safe, word, len, false);
	return strcmp(safe, word) == 0;
}

static bool
take_name(struct line *l, const char *word)
{
	if (!is_name(word))
		return refuse(l, "'%s' is not a name for a node: use up to %d "
		    "letters, digits and - _ . that are neither a number nor "
		    "'local'", base_shown(word), NODES_NAME_MAX);
	strcpy(l->e->name, word);
	return true;
}

static bool
take_place(struct line *l, const char *word)
{
	enum nodes_at at;
	const char *place;

	if (!nodes_parse_place(word, &at, &place))
		return refuse(l, "'%s' is not a place of a node: write local, "
		    "unix:PATH or ssh:[USER@]HOST", base_shown(word));
	if (at == NODES_AT_UNIX &&
	    (place[0] != '/' || strlen(place) >= PATH_MAX_UNIX))
		return refuse(l, "'%s': unix: needs the absolute path of a "
		    "socket, shorter than %zu bytes",
		    base_shown(word), PATH_MAX_UNIX);
	if (at == NODES_AT_SSH && (strchr(place, '/') != NULL ||
	    nodes_ssh_check(&(struct nodes_ssh){ .host = place }) != NULL))
		return refuse(l, "'%s': ssh: needs the name of a host and "
		    "nothing else, as in ssh:linac-b or ssh:anna@linac-b",
		    base_shown(word));
	l->e->at = at;
	strcpy(l->e->place, place);
	return true;
}

/* Parses a decimal number from min to max that is followed by `end`. */
static bool
get_decimal(const char **text, unsigned long min, unsigned long max, char end,
    unsigned long *out)
{
	size_t digits = strspn(*text, "0123456789");
	unsigned long n;

	if (digits == 0 || digits > 5 || (*text)[digits] != end)
		return false;
	n = strtoul(*text, NULL, 10);
	if (n < min || n > max)
		return false;
	*text += digits + (end != '\0');
	*out = n;
	return true;
}

static bool
take_acnet(struct line *l, const char *value)
{
	unsigned long trunk, node;

	if (!get_decimal(&value, 0, TRUNK_MAX, '.', &trunk) ||
	    !get_decimal(&value, 0, UINT8_MAX, '\0', &node))
		return refuse(l, "acnet= takes TRUNK.NODE, decimal numbers to "
		    "%d and %d, as in acnet=11.134", TRUNK_MAX, UINT8_MAX);
	l->e->port = NODES_PORT_ACNET;
	l->e->trunk = (uint8_t)trunk;
	l->e->node = (uint8_t)node;
	return true;
}

static bool
take_classic(struct line *l, const char *value)
{
	unsigned long port;

	if (!get_decimal(&value, 1, UINT16_MAX, '\0', &port))
		return refuse(l, "classic= takes the number of a port, 1 to "
		    "%d", UINT16_MAX);
	l->e->port = NODES_PORT_CLASSIC;
	l->e->classic = (uint16_t)port;
	return true;
}

static bool
take_remote(struct line *l, const char *value)
{
	struct nodes_ssh where = { .host = l->e->place, .program = value };

	if (l->e->at != NODES_AT_SSH)
		return refuse(l, "remote= is only for nodes behind ssh:");
	if (strlen(value) >= sizeof l->e->remote ||
	    nodes_ssh_check(&where) != NULL)
		return refuse(l, "remote= takes the path of pageknode at the "
		    "other end, of less than %zu bytes", sizeof l->e->remote);
	strcpy(l->e->remote, value);
	return true;
}

static const struct {
	const char *key;
	bool (*take)(struct line *, const char *value);
	unsigned kind;		/* a line has one key of a kind */
} keys[] = {
	{ "acnet", take_acnet, 1 },
	{ "classic", take_classic, 1 },
	{ "remote", take_remote, 2 },
};

static bool
take_key(struct line *l, const char *word, unsigned *kinds)
{
	size_t len = strcspn(word, "="), i;

	for (i = 0; i < BASE_NELEM(keys); i++)
		if (word[len] == '=' && strlen(keys[i].key) == len &&
		    memcmp(keys[i].key, word, len) == 0)
			break;
	if (i == BASE_NELEM(keys))
		return refuse(l, "'%s': after the place, only acnet=TRUNK.NODE "
		    "or classic=PORT, and remote=PATH, can follow; # begins a "
		    "comment", base_shown(word));
	if ((*kinds & 1u << keys[i].kind) != 0)
		return refuse(l, "'%s': this is given twice: remove one of "
		    "them", base_shown(word));
	*kinds |= 1u << keys[i].kind;
	return keys[i].take(l, word + len + 1);
}

static bool
split(struct line *l, char *text)
{
	char *rest, *word;

	for (word = strtok_r(text, " \t", &rest);
	    word != NULL && word[0] != '#';
	    word = strtok_r(NULL, " \t", &rest)) {
		if (l->n == WORDS_MAX)
			return refuse(l, "a line has no more than %d words: "
			    "is it two lines?", WORDS_MAX);
		l->words[l->n++] = word;
	}
	return true;
}

static bool
take_line(struct line *l)
{
	unsigned kinds = 0;
	size_t i;

	if (l->n < 3)
		return refuse(l, "a node has a number, a name and a place, as "
		    "in '0590 linac-a ssh:linac-a'");
	if (!take_number(l, l->words[0]) || !take_name(l, l->words[1]) ||
	    !take_place(l, l->words[2]))
		return false;
	for (i = 3; i < l->n; i++)
		if (!take_key(l, l->words[i], &kinds))
			return false;
	return true;
}

/* True if no earlier entry has its number or name, or is local too. */
static bool
is_new(struct line *l, const struct nodes_table *t)
{
	const struct nodes_entry *e = l->e;
	bool number, name, local;

	for (size_t i = 0; i < t->n; i++) {
		const struct nodes_entry *old = &t->entry[i];

		number = old->number == e->number;
		name = strcmp(old->name, e->name) == 0;
		local = old->at == NODES_AT_LOCAL && e->at == NODES_AT_LOCAL;
		if (!number && !name && !local)
			continue;
		/* The user's file wins silently. */
		if (old->file != e->file)
			return false;
		if (number)
			return refuse(l, "number %04X is already used in line "
			    "%u: choose another", e->number,
			    old->line);
		if (name)
			return refuse(l, "the name '%s' is already used in "
			    "line %u: choose another", e->name,
			    old->line);
		return refuse(l, "the local node is already in line %u: remove "
		    "one of them", old->line);
	}
	return true;
}

/* A second node with the same friendly number is shown by its own number. */
static void
make_friendly_unique(struct line *l, const struct nodes_table *t)
{
	uint16_t friendly = nodes_entry_friendly(l->e);

	for (size_t i = 0; friendly != 0 && i < t->n; i++) {
		const struct nodes_entry *old = &t->entry[i];

		if (nodes_entry_friendly(old) != friendly)
			continue;
		if (old->file == l->e->file)
			refuse(l, "friendly number %04X is already used in "
			    "line %u: node %04X is shown with its own "
			    "number", friendly, old->line, l->e->number);
		l->e->port = NODES_PORT_NONE;
		return;
	}
}

static int
by_number(const void *a, const void *b)
{
	const struct nodes_entry *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int
add_entry(struct nodes_table *t, size_t *cap, const struct nodes_entry *e)
{
	void *array = t->entry;
	int r;

	r = base_grow(&array, cap, t->n + 1, sizeof *t->entry);
	if (r < 0)
		return r;
	t->entry = array;
	t->entry[t->n++] = *e;
	return 0;
}

static void
report_further(struct table_in *in)
{
	char sentence[512], path[256];

	if (in->said <= TABLE_SAID_MAX)
		return;
	base_safe_text(path, sizeof path, in->path, strlen(in->path), false);
	snprintf(sentence, sizeof sentence, "%s: and %u lines more that "
	    "cannot be read", path, in->said - TABLE_SAID_MAX);
	in->say(in->arg, sentence);
}

int
table_parse(struct nodes_table *t, size_t *cap, struct table_in *in,
    const char *bytes, size_t len)
{
	char text[BASE_LINE_MAX + 1];
	struct base_lines lines;
	const char *why;
	int r = 0;

	base_lines_init(&lines, bytes, len);
	while (r == 0 && base_lines_next(&lines, text, &why)) {
		struct nodes_entry e = { .file = in->file, .line = lines.no };
		struct line l = { .in = in, .no = lines.no, .e = &e };

		if (why != NULL) {
			refuse(&l, "%s: retype it", why);
			continue;
		}
		if (!split(&l, text) || l.n == 0 || !take_line(&l) ||
		    !is_new(&l, t))
			continue;
		if (t->n == NODES_TABLE_MAX) {
			refuse(&l, "a table has at most %d nodes: the others "
			    "are ignored", NODES_TABLE_MAX);
			break;
		}
		make_friendly_unique(&l, t);
		r = add_entry(t, cap, &e);
	}
	if (t->n > 1)
		qsort(t->entry, t->n, sizeof *t->entry, by_number);
	report_further(in);
	return r;
}

#define SYSTEM_FILE "/etc/pagek/nodes"
#define USER_FILE "pagek/nodes"

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
	/* The user's file first: it wins. */
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

static int
number_to_entry(const void *key, const void *entry)
{
	const uint16_t *number = key;
	const struct nodes_entry *e = entry;

	return (*number > e->number) - (*number < e->number);
}

const struct nodes_entry *
nodes_table_number(const struct nodes_table *t, uint16_t number)
{
	return t->n == 0 ? NULL : bsearch(&number, t->entry, t->n,
	    sizeof *t->entry, number_to_entry);
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

/* Names come first: a number that is one digit off is another node. */
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
