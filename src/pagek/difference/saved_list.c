/*
 * The parser of JSON is written by hand: the libraries that are kept up build a
 * tree of every value, ten times as large as a file that may be of 2 GiB.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "saved_list.h"

#define TEXT_MAX 1024
#define DEPTH_MAX 32
#define SCHEMA "pagek.blocks/"
#define LACKING "its blocks lack address, size, seq or function: save it " \
	"without --fields"

enum value {
	VALUE_SCHEMA,
	VALUE_TIME,
	VALUE_TAKEN,
	VALUE_COMPLETE,
	VALUE_KIND,
	VALUE_ADDRESS,
	VALUE_SIZE,
	VALUE_WEIGHT,
	VALUE_SEQ,
	VALUE_FUNCTION,
	VALUE_FILTER,
	VALUE_MATCHED,			/* blocks that match it */
	VALUE_ACTIVE,			/* blocks of the target */
	VALUE_STATE,
	VALUES
};

static const char *const keys[VALUES] = { "schema", "time", "taken",
	"complete", "kind", "address", "size", "weight", "seq", "function",
	"filter", "matched", "aRecActive", "state" };

/* The object of the head that has the value; NULL: the head, or a block, itself. */
static const char *const parts[VALUES] = { [VALUE_ACTIVE] = "counts",
	[VALUE_STATE] = "target" };

struct record {
	bool has[VALUES];		/* null is had, and empty */
	char text[VALUES][TEXT_MAX];
};

struct reading {
	struct saved_diff *d;
	struct saved_list *list;
	const char *p, *end;
	bool known;			/* it is a list of blocks */
	int err;
	const char *why;
	struct record rec[2];		/* of the head, and of a block */
};

static void
fail(struct reading *r, int err, const char *why)
{
	if (r->err != 0)
		return;
	r->err = err;
	r->why = why;
	r->p = r->end;
}

static struct saved_function *
function_called(struct saved_diff *d, const char *name, uint32_t *at)
{
	char safe[2 * TEXT_MAX];
	size_t len = base_safe_text(safe, sizeof safe, name, strlen(name),
	    false);
	struct saved_function *f;
	uint64_t key = 0;
	bool added;
	int64_t i;

	do {
		key = hash_of_bytes(key + 1, safe, len);
		i = hashmap_put(&d->functions, key, &added);
		if (i < 0)
			return NULL;
		f = hashmap_item(&d->functions, (size_t)i);
		if (added)
			f->name = strdup(safe);
		if (f->name == NULL)
			return NULL;
	} while (strcmp(f->name, safe) != 0);
	*at = (uint32_t)i;
	return f;
}

static bool
number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static void
add_block(struct reading *r, const struct record *rec)
{
	struct saved_block b = { .weight = 1 };
	struct saved_list *l = r->list;
	void *array = l->blk;
	char *end;

	if (rec->has[VALUE_KIND] && strcmp(rec->text[VALUE_KIND], "free") == 0)
		return;
	if (!rec->has[VALUE_FUNCTION] || !rec->has[VALUE_SEQ]) {
		fail(r, -EINVAL, LACKING);
		return;
	}
	if (rec->has[VALUE_WEIGHT])
		b.weight = strtod(rec->text[VALUE_WEIGHT], &end);
	if (!number(rec->text[VALUE_ADDRESS], &b.addr) ||
	    !number(rec->text[VALUE_SIZE], &b.size) ||
	    !number(rec->text[VALUE_SEQ], &b.seq) || !(b.weight >= 0) ||
	    b.weight > 1e18) {
		fail(r, -EINVAL, "a block has an invalid number");
		return;
	}
	if (base_grow(&array, &l->cap, l->n + 1, sizeof *l->blk) < 0 ||
	    function_called(r->d, rec->text[VALUE_FUNCTION],
	    &b.function) == NULL) {
		l->blk = array;
		fail(r, -ENOMEM, "out of memory");
		return;
	}
	l->blk = array;
	l->blk[l->n++] = b;
	l->blocks += b.weight;
	l->bytes += b.weight * (double)b.size;
}

/* The head of JSON says how many blocks there are; CSV does not. */
static void
take_total(struct saved_list *l, const struct record *rec)
{
	const char *filter = rec->has[VALUE_FILTER] ? rec->text[VALUE_FILTER] :
	    "";

	base_safe_text(l->filter, sizeof l->filter, filter, strlen(filter),
	    false);
	l->total_known = number(rec->text[filter[0] != '\0' &&
	    rec->has[VALUE_MATCHED] ? VALUE_MATCHED : VALUE_ACTIVE],
	    &l->total) && rec->has[VALUE_ACTIVE];
}

static void
take_record(struct reading *r, const struct record *rec)
{
	const char *time = rec->text[rec->has[VALUE_TAKEN] ? VALUE_TAKEN :
	    VALUE_TIME];

	if (rec->has[VALUE_SCHEMA] && strncmp(rec->text[VALUE_SCHEMA], SCHEMA,
	    strlen(SCHEMA)) != 0) {
		fail(r, -EINVAL, "it is not a list of blocks");
		return;
	}
	r->known |= r->rec[0].has[VALUE_SCHEMA];
	if (!r->known) {
		fail(r, -EINVAL, "it is not a list of blocks");
		return;
	}
	if (rec->has[VALUE_SCHEMA])
		take_total(r->list, rec);
	if (rec->has[VALUE_STATE])
		r->list->ended = strcmp(rec->text[VALUE_STATE], "ENDED") == 0;
	if (rec->has[VALUE_COMPLETE])
		r->list->incomplete |=
		    strcmp(rec->text[VALUE_COMPLETE], "true") != 0;
	/* A block has the time of its allocation. */
	if (rec->has[VALUE_SCHEMA] || rec->has[VALUE_TAKEN])
		base_safe_text(r->list->time, sizeof r->list->time, time,
		    strlen(time), false);
	if (rec->has[VALUE_ADDRESS] && rec->has[VALUE_SIZE])
		add_block(r, rec);
	else if (!rec->has[VALUE_SCHEMA])
		fail(r, -EINVAL, LACKING);
}

static void
skip_blanks(struct reading *r)
{
	while (r->p < r->end && strchr(" \t\r\n", *r->p) != NULL && *r->p != 0)
		r->p++;
}

static bool
take(struct reading *r, char c)
{
	skip_blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static void
need(struct reading *r, char c)
{
	if (!take(r, c))
		fail(r, -EINVAL, "its JSON is damaged");
}

static char
unescaped(struct reading *r)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	char c = *r->p++;
	const char *at = strchr(from, c);

	/* Ours are of control characters, which no name keeps. */
	if (c == 'u')
		r->p += r->end - r->p < 4 ? r->end - r->p : 4;
	return c == 'u' ? '?' : c != '\0' && at != NULL ? to[at - from] : c;
}

static void
read_text(struct reading *r, char out[TEXT_MAX])
{
	size_t n = 0;
	char c;

	need(r, '"');
	while (r->p < r->end && *r->p != '"') {
		c = *r->p++;
		if (c == '\\' && r->p < r->end)
			c = unescaped(r);
		if (n + 1 < TEXT_MAX && c != '\0')
			out[n++] = c;
	}
	out[n] = '\0';
	need(r, '"');
}

/* A number or a word; null is empty. */
static void
read_word(struct reading *r, char out[TEXT_MAX])
{
	size_t n = 0;

	while (r->p < r->end && *r->p != '\0' &&
	    strchr(",]} \t\r\n", *r->p) == NULL) {
		if (n + 1 < TEXT_MAX)
			out[n++] = *r->p;
		r->p++;
	}
	out[n] = '\0';
	if (n == 0)
		fail(r, -EINVAL, "its JSON is damaged");
	if (strcmp(out, "null") == 0)
		out[0] = '\0';
}

static void read_object(struct reading *, struct record *, const char *part,
    unsigned depth);
static void read_array(struct reading *, bool blocks, unsigned depth);

/* The value of that name in that object; VALUES: none. */
static int
find_value(const char *part, const char *key)
{
	int v;

	for (v = 0; v < VALUES; v++)
		if (strcmp(keys[v], key) == 0 && (parts[v] == NULL ||
		    part == NULL ? parts[v] == part :
		    strcmp(parts[v], part) == 0))
			break;
	return v;
}

/* rec NULL: its values are not wanted.  part: the object that it is in; NULL. */
static void
read_value(struct reading *r, struct record *rec, const char *part,
    const char *key, unsigned depth)
{
	bool head = rec == &r->rec[0] && part == NULL;
	char text[TEXT_MAX];
	int v;

	skip_blanks(r);
	if (depth > DEPTH_MAX || r->p == r->end) {
		fail(r, -EINVAL, "its JSON is damaged");
		return;
	}
	if (*r->p == '{') {
		read_object(r, head ? rec : NULL, key, depth + 1);
		return;
	}
	if (*r->p == '[') {
		read_array(r, head && strcmp(key, "blocks") == 0, depth + 1);
		return;
	}
	v = find_value(part, key);
	if (*r->p == '"')
		read_text(r, text);
	else
		read_word(r, text);
	if (rec == NULL || v == VALUES)
		return;
	rec->has[v] = true;
	memcpy(rec->text[v], text, sizeof text);
}

static void
read_object(struct reading *r, struct record *rec, const char *part,
    unsigned depth)
{
	char key[TEXT_MAX];

	need(r, '{');
	if (take(r, '}'))
		return;
	do {
		read_text(r, key);
		need(r, ':');
		read_value(r, rec, part, key, depth);
	} while (take(r, ','));
	need(r, '}');
}

static void
read_array(struct reading *r, bool blocks, unsigned depth)
{
	need(r, '[');
	if (take(r, ']'))
		return;
	do {
		if (!blocks) {
			read_value(r, NULL, NULL, "", depth);
			continue;
		}
		memset(r->rec[1].has, 0, sizeof r->rec[1].has);
		read_object(r, &r->rec[1], NULL, depth);
		if (r->err == 0)
			take_record(r, &r->rec[1]);
	} while (take(r, ','));
	need(r, ']');
}

/* One object with all, or a line for the head and one for each block. */
static void
read_json(struct reading *r)
{
	do {
		memset(r->rec[0].has, 0, sizeof r->rec[0].has);
		read_object(r, &r->rec[0], NULL, 0);
		if (r->err == 0)
			take_record(r, &r->rec[0]);
		skip_blanks(r);
	} while (r->p < r->end);
}

#define COLUMNS_MAX 64

/* Returns what stands behind it: ',' or '\n'. */
static char
read_cell(struct reading *r, char out[TEXT_MAX])
{
	bool quoted = r->p < r->end && *r->p == '"';
	size_t n = 0;

	r->p += quoted;
	while (r->p < r->end) {
		char c = *r->p++;

		if (quoted && c == '"' && (r->p == r->end || *r->p != '"')) {
			quoted = false;
			continue;
		}
		if (quoted && c == '"')
			r->p++;
		else if (!quoted && (c == ',' || c == '\n')) {
			out[n] = '\0';
			return c;
		}
		if (n + 1 < TEXT_MAX && c != '\0' && c != '\r')
			out[n++] = c;
	}
	out[n] = '\0';
	return '\n';
}

static void
read_csv(struct reading *r)
{
	int column[COLUMNS_MAX], columns = 0, i;
	struct record *rec = &r->rec[0];
	char text[TEXT_MAX], behind;

	do {
		behind = read_cell(r, text);
		for (i = 0; i < VALUES && strcmp(keys[i], text) != 0; i++)
			continue;
		if (i < VALUES)
			rec->has[i] = true;
		if (columns < COLUMNS_MAX)
			column[columns++] = i;
	} while (behind == ',');
	/* A block's own time is not the list's. */
	r->known = rec->has[VALUE_ADDRESS] && rec->has[VALUE_SIZE];
	if (!r->known || !rec->has[VALUE_SEQ] || !rec->has[VALUE_FUNCTION]) {
		fail(r, -EINVAL, r->known ? LACKING :
		    "it is not a list of blocks");
		return;
	}
	while (r->p < r->end) {
		i = 0;
		do {
			behind = read_cell(r, text);
			if (i < columns && column[i] < VALUES)
				memcpy(rec->text[column[i]], text, sizeof text);
			i++;
		} while (behind == ',');
		if (i != columns) {
			fail(r, -EINVAL, "a line has more or fewer values than "
			    "the first one has names");
			return;
		}
		take_record(r, rec);
	}
}

int
saved_list_read(struct saved_diff *d, enum saved_side side, const char *bytes,
    size_t len, char *why, size_t cap)
{
	struct reading *r = calloc(1, sizeof *r);
	int err;

	if (r == NULL)
		return -ENOMEM;
	r->d = d;
	r->list = &d->list[side];
	r->p = bytes;
	r->end = bytes + len;
	r->why = "";
	skip_blanks(r);
	if (r->p == r->end)
		fail(r, -EINVAL, "it is empty");
	else if (*r->p == '{')
		read_json(r);
	else
		read_csv(r);
	if (!r->known)
		fail(r, -EINVAL, "it is not a list of blocks");
	snprintf(why, cap, "%s", r->why);
	err = r->err;
	free(r);
	return err;
}

static int
by_block(const void *a, const void *b)
{
	const struct saved_block *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

double
saved_net(const struct saved_function *f)
{
	return f->bytes[SAVED_NEW] - f->bytes[SAVED_OLD];
}

static int
by_net(const void *a, const void *b)
{
	const struct saved_function *const *x = a, *const *y = b;
	double m = saved_net(*x), n = saved_net(*y);

	return m != n ? (m < n ? 1 : -1) : strcmp((*x)->name, (*y)->name);
}

static void
sum_block(struct saved_diff *d, enum saved_side side, const struct saved_block *b,
    bool both)
{
	struct saved_function *f = hashmap_item(&d->functions, b->function);
	double bytes = b->weight * (double)b->size;

	f->blocks[side] += b->weight;
	f->bytes[side] += bytes;
	if (both)
		return;
	*(side == SAVED_NEW ? &f->new_blocks : &f->freed_blocks) += b->weight;
	*(side == SAVED_NEW ? &f->new_bytes : &f->freed_bytes) += bytes;
	*(side == SAVED_NEW ? &d->new_blocks : &d->freed_blocks) += b->weight;
}

static void
sum_all(struct saved_diff *d)
{
	const struct saved_list *old = &d->list[SAVED_OLD];
	const struct saved_list *new = &d->list[SAVED_NEW];
	size_t i = 0, j = 0;

	while (i < old->n || j < new->n) {
		int c = i == old->n ? 1 : j == new->n ? -1 :
		    by_block(&old->blk[i], &new->blk[j]);

		d->same += c == 0;
		if (c <= 0)
			sum_block(d, SAVED_OLD, &old->blk[i++], c == 0);
		if (c >= 0)
			sum_block(d, SAVED_NEW, &new->blk[j++], c == 0);
	}
}

/* If a program was started anew, every block is another one. */
static bool
has_changed(const struct saved_diff *d, const struct saved_function *f)
{
	if (d->same > 0)
		return f->new_blocks > 0 || f->freed_blocks > 0;
	return f->bytes[SAVED_OLD] != f->bytes[SAVED_NEW] ||
	    f->blocks[SAVED_OLD] != f->blocks[SAVED_NEW];
}

int
saved_diff_compare(struct saved_diff *d)
{
	size_t i;

	for (i = 0; i < SAVED_SIDES; i++)
		if (d->list[i].n > 0)
			qsort(d->list[i].blk, d->list[i].n,
			    sizeof *d->list[i].blk, by_block);
	sum_all(d);
	d->row = calloc(d->functions.n + 1, sizeof(struct saved_function *));
	if (d->row == NULL)
		return -ENOMEM;
	for (i = 0; i < d->functions.n; i++) {
		struct saved_function *f = hashmap_item(&d->functions, i);

		if (has_changed(d, f))
			d->row[d->n++] = f;
	}
	if (d->n > 0)
		qsort(d->row, d->n, sizeof(struct saved_function *), by_net);
	return 0;
}

void
saved_diff_init(struct saved_diff *d)
{
	*d = (struct saved_diff){
		.functions.size = sizeof(struct saved_function) };
}

void
saved_diff_fini(struct saved_diff *d)
{
	for (size_t i = 0; i < d->functions.n; i++)
		free(((struct saved_function *)hashmap_item(&d->functions,
		    i))->name);
	hashmap_fini(&d->functions);
	for (int side = 0; side < SAVED_SIDES; side++)
		free(d->list[side].blk);
	free(d->row);
}
