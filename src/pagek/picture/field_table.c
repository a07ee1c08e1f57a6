#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "field_table.h"

static const void *
member(const void *row, size_t at)
{
	return (const char *)row + at;
}

bool
field_u64(const void *row, size_t at, struct field_value *v)
{
	v->n = *(const uint64_t *)member(row, at);
	return true;
}

bool
field_u32(const void *row, size_t at, struct field_value *v)
{
	v->n = *(const uint32_t *)member(row, at);
	return true;
}

bool
field_i64(const void *row, size_t at, struct field_value *v)
{
	v->i = *(const int64_t *)member(row, at);
	return true;
}

bool
field_flag(const void *row, size_t at, struct field_value *v)
{
	v->n = *(const bool *)member(row, at);
	return true;
}

bool
field_pointer(const void *row, size_t at, struct field_value *v)
{
	v->text = *(const char *const *)member(row, at);
	return v->text != NULL && v->text[0] != '\0';
}

bool
field_array(const void *row, size_t at, struct field_value *v)
{
	v->text = member(row, at);
	return v->text[0] != '\0';
}

bool
field_any_text(const void *row, size_t at, struct field_value *v)
{
	v->text = member(row, at);
	return true;
}

bool
field_member(const void *row, size_t at, struct field_value *v)
{
	v->row = member(row, at);
	return true;
}

bool
field_row(const void *row, size_t at, struct field_value *v)
{
	v->row = *(const void *const *)member(row, at);
	return v->row != NULL;
}

bool
field_u64_known(const void *row, size_t at, struct field_value *v)
{
	return field_u64(row, at, v) && v->n != 0;
}

bool
field_u32_known(const void *row, size_t at, struct field_value *v)
{
	return field_u32(row, at, v) && v->n != 0;
}

bool
field_i64_known(const void *row, size_t at, struct field_value *v)
{
	return field_i64(row, at, v) && v->i != 0;
}

bool
field_value(const struct field *f, const void *row, struct field_value *v)
{
	if (f->via != 0)
		row = *(const void *const *)member(row, f->via - 1);
	return row != NULL && f->get(row, f->at, v);
}

static void
time_text(int64_t wall_ms, char out[FIELD_TEXT_MAX])
{
	int64_t ms = wall_ms % 1000;
	time_t t = (time_t)(wall_ms / 1000);
	char text[32];
	struct tm tm;

	if (ms < 0) {
		ms += 1000;
		t--;
	}
	if (gmtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		out[0] = '\0';
	else
		snprintf(out, FIELD_TEXT_MAX, "%s.%03dZ", text, (int)ms);
}

void
field_text(enum field_kind kind, const struct field_value *v,
    char out[FIELD_TEXT_MAX])
{
	uint64_t millionths;

	out[0] = '\0';
	switch (kind) {
	case FIELD_NUMBER:
		snprintf(out, FIELD_TEXT_MAX, "%" PRIu64, v->n);
		break;
	case FIELD_SIGNED:
		snprintf(out, FIELD_TEXT_MAX, "%" PRId64, v->i);
		break;
	case FIELD_HEX:
		snprintf(out, FIELD_TEXT_MAX, "0x%" PRIx64, v->n);
		break;
	case FIELD_NODE:
		snprintf(out, FIELD_TEXT_MAX, "%04X", (unsigned)v->n & 0xffff);
		break;
	case FIELD_SHARE:
		/* The decimal point is a point in every locale. */
		millionths = (uint64_t)(v->share * 1e6 + 0.5);
		snprintf(out, FIELD_TEXT_MAX, "%" PRIu64 ".%06" PRIu64,
		    millionths / 1000000, millionths % 1000000);
		break;
	case FIELD_BOOL:
		snprintf(out, FIELD_TEXT_MAX, "%s", v->n ? "true" : "false");
		break;
	case FIELD_TIME:
		time_text(v->i, out);
		break;
	case FIELD_TEXT:
	case FIELD_OBJECT:
	case FIELD_INCLUDE:
	case FIELD_LIST:
	case FIELD_HEAD:
		break;
	}
}

static void
walk_fields(const struct field_table *t, unsigned subset, const char *prefix,
    const void *row, field_leaf leaf, void *arg)
{
	char joined[FIELD_NAME];
	struct field_value v;
	const char *name;

	for (const struct field *f = t->field; f < t->field + t->n; f++) {
		if (!field_belongs(f, subset) || f->kind == FIELD_LIST ||
		    (f->key == NULL && f->kind != FIELD_INCLUDE))
			continue;
		if (f->kind == FIELD_INCLUDE) {
			walk_fields(f->sub, subset, prefix, row != NULL &&
			    field_value(f, row, &v) ? v.row : NULL, leaf, arg);
			continue;
		}
		name = f->key;
		if (prefix[0] != '\0') {
			snprintf(joined, sizeof joined, "%s_%s", prefix, name);
			name = joined;
		}
		if (f->kind == FIELD_OBJECT)
			walk_fields(f->sub, subset, name, row != NULL &&
			    field_value(f, row, &v) ? v.row : NULL, leaf, arg);
		else
			leaf(arg, f, name, row);
	}
}

void
field_walk(const struct field_table *t, unsigned subset, const void *row,
    field_leaf leaf, void *arg)
{
	walk_fields(t, subset, "", row, leaf, arg);
}

bool
field_has_column(const struct field *f, unsigned subset)
{
	unsigned has = f->column.subset != 0 ? f->column.subset : f->subset;

	return (f->column.plain || f->column.cell != NULL ||
	    f->column.put != NULL) &&
	    (has == 0 || subset == 0 || (has & subset) != 0);
}

int
field_width(const struct field *f, bool sampled)
{
	return f->column.width + (sampled && f->column.figure);
}

void
field_cell(const struct field *f, const void *row, char out[FIELD_CELL])
{
	struct field_value v;
	bool known;

	if (f->column.cell != NULL) {
		f->column.cell(row, out);
		return;
	}
	known = field_value(f, row, &v);
	if (f->kind == FIELD_TEXT)
		snprintf(out, FIELD_CELL, "%s", known ? v.text : "");
	else if (!known)
		snprintf(out, FIELD_CELL, "-");
	else if (f->unit == FIELD_BYTES)
		base_human_bytes(out, FIELD_CELL, v.n);
	else if (f->kind == FIELD_NUMBER)
		base_group_digits(out, FIELD_CELL, v.n);
	else
		field_text(f->kind, &v, out);
}

static const struct field *
column_of_rank(const struct field_table *t, unsigned subset, int rank)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->field[i].column.rank == rank &&
		    field_has_column(&t->field[i], subset))
			return &t->field[i];
	return NULL;
}

static void
insert_column(struct field_plan *plan, const struct field *f)
{
	size_t i = plan->n;

	assert(plan->n < FIELD_COLUMNS);
	while (i > 0 && (plan->column[i - 1]->column.place > f->column.place ||
	    (plan->column[i - 1]->column.place == f->column.place &&
	    plan->column[i - 1] > f))) {
		plan->column[i] = plan->column[i - 1];
		i--;
	}
	plan->column[i] = f;
	plan->n++;
}

void
field_plan(const struct field_table *t, unsigned subset, int cols,
    unsigned have, bool sampled, struct field_plan *plan)
{
	const struct field *f;

	plan->n = 0;
	plan->left = cols;
	for (int rank = 0; (f = column_of_rank(t, subset, rank)) != NULL;
	    rank++) {
		const struct field_column *c = &f->column;
		int need = c->gap + field_width(f, sampled);

		if ((c->need & ~have) != 0)
			continue;
		if (plan->left - need < c->keep && c->least > 0)
			need = c->gap + c->least;
		if (plan->left - need < c->keep)
			continue;
		plan->left -= need;
		insert_column(plan, f);
	}
}

bool
field_is_key_of(const char *key, const char *name)
{
	size_t len = strlen(name);

	return strncmp(key, name, len) == 0 &&
	    (key[len] == '\0' || strcmp(key + len, "_ms") == 0);
}

/* The key of the field that has this name; NULL: none. */
static const char *
key_of(const struct field_table *t, const char *name)
{
	const char *other = t->called != NULL ? t->called(name) : NULL;
	const char *key = NULL;

	for (const struct field *f = t->field; f < t->field + t->n; f++) {
		if (f->key == NULL)
			continue;
		if (strcmp(f->key, name) == 0)
			return f->key;
		if (other != NULL && field_is_key_of(f->key, other))
			key = f->key;
	}
	return key;
}

const char *
field_next(const struct field_table *t, const char *list, char out[FIELD_NAME])
{
	const char *key;
	size_t n;

	if (*list == '\0')
		return NULL;
	n = strcspn(list, ",");
	snprintf(out, FIELD_NAME, "%.*s", (int)(n < FIELD_NAME ? n :
	    FIELD_NAME - 1), list);
	key = key_of(t, out);
	if (key != NULL)
		snprintf(out, FIELD_NAME, "%s", key);
	return list + n + (list[n] == ',');
}

bool
field_chosen(const struct field_table *t, const char *list, const char *key)
{
	char name[FIELD_NAME];

	while ((list = field_next(t, list, name)) != NULL)
		if (strcmp(name, key) == 0)
			return true;
	return false;
}

struct names {
	char text[FIELD_LEAVES][FIELD_NAME];
	const char *known[FIELD_LEAVES + 1];
	size_t n;
};

static void
add_name(void *arg, const struct field *f, const char *name, const void *row)
{
	struct names *names = arg;

	(void)f;
	(void)row;
	if (names->n == FIELD_LEAVES)
		return;
	snprintf(names->text[names->n], FIELD_NAME, "%s", name);
	names->known[names->n] = names->text[names->n];
	names->n++;
}

static void
suggest_names(const struct names *names, const char *name, char *why, size_t cap)
{
	const char *near = *name == '\0' ? NULL : base_nearest(name,
	    names->known, names->n);
	size_t len = strlen(why);

	if (near != NULL) {
		base_append(why, cap, &len, ": did you mean '%s'?", near);
		return;
	}
	for (size_t i = 0; i < names->n; i++)
		base_append(why, cap, &len, "%s%s", i == 0 ? "; there are " :
		    i + 1 < names->n ? ", " : " and ", names->known[i]);
}

bool
field_list_check(const char *list, const struct field_table *t,
    unsigned subset, const char *more, char *why, size_t cap)
{
	struct names names = { .n = 0 };
	char name[FIELD_NAME], safe[FIELD_NAME * 4];
	const char *rest;
	size_t i;

	field_walk(t, subset, NULL, add_name, &names);
	if (more != NULL)
		names.known[names.n++] = more;
	if (*list == '\0') {
		snprintf(why, cap, "--fields= names none");
		suggest_names(&names, "", why, cap);
		return false;
	}
	for (; (rest = field_next(t, list, name)) != NULL; list = rest) {
		for (i = 0; i < names.n &&
		    strcmp(names.known[i], name) != 0; i++)
			continue;
		base_safe_text(safe, sizeof safe, name, strlen(name), false);
		if (i == names.n) {
			snprintf(why, cap, "--fields: no field '%s'", safe);
			suggest_names(&names, name, why, cap);
			return false;
		}
		if (field_chosen(t, rest, name)) {
			snprintf(why, cap, "--fields: '%s' is named twice",
			    safe);
			return false;
		}
	}
	return true;
}
