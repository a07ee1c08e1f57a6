/*
 * Baselines: what is held at the end, by type and function, in a file that
 * people can read, and the sums that exceed it.
 *
 *	pagek.baseline/1
 *	total BLOCKS BYTES
 *	type BLOCKS BYTES NAME
 *	function BLOCKS BYTES NAME
 *
 * Lines that begin with '#' are comments.  Names are safe text, and cut; entries
 * whose cut names are the same are one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../snapshot/snapshot.h"
#include "../../documents/documents.h"
#include "check.h"

#define MAGIC "pagek.baseline/1"
#define FILE_MAX (16 << 20)

/* Allowed in any case. */
#define SLACK_BYTES 4096
#define SLACK_BLOCKS 10

enum kind {
	KIND_TOTAL,
	KIND_TYPE,
	KIND_FUNCTION,
	KINDS
};

static const char *const kinds[KINDS] = {
	[KIND_TOTAL] = "total",
	[KIND_TYPE] = "type",
	[KIND_FUNCTION] = "function",
};

struct entry {
	enum kind kind;
	char name[4 * CHECK_NAME];
	uint64_t blocks, bytes;
};

struct entries {
	struct entry *e;
	size_t n, cap;
};

static int
by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int
add_entry(struct entries *l, enum kind kind, const char *name, uint64_t blocks,
    uint64_t bytes)
{
	struct entry *e;
	int r;

	r = base_grow((void **)&l->e, &l->cap, l->n + 1, sizeof *l->e);
	if (r < 0)
		return r;
	e = &l->e[l->n++];
	e->kind = kind;
	e->blocks = blocks;
	e->bytes = bytes;
	base_safe_text(e->name, sizeof e->name, name, strlen(name), false);
	return 0;
}

static uint64_t
saturated_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void
merge_entries(struct entries *l)
{
	size_t n = 0;

	if (l->n == 0)
		return;
	qsort(l->e, l->n, sizeof *l->e, by_name);
	for (size_t i = 1; i < l->n; i++) {
		if (by_name(&l->e[n], &l->e[i]) == 0) {
			l->e[n].blocks = saturated_sum(l->e[n].blocks,
			    l->e[i].blocks);
			l->e[n].bytes = saturated_sum(l->e[n].bytes,
			    l->e[i].bytes);
		} else {
			l->e[++n] = l->e[i];
		}
	}
	l->n = n + 1;
}

static int
add_types(struct entries *l, struct nodes_session *s)
{
	struct type_sums sum;
	struct page_view v;
	char code[8];
	int r = 0;

	page_view_live(&v, s);
	prom_sum_types(&v, NULL, &sum);
	for (unsigned t = 0; t < 256 && r == 0; t++) {
		const char *name = or_null(v.look->types->by_code[t].name);

		snprintf(code, sizeof code, "%02X", t);
		if (sum.blocks[t] > 0)
			r = add_entry(l, KIND_TYPE, name != NULL ? name : code,
			    (uint64_t)(sum.blocks[t] + 0.5),
			    (uint64_t)(sum.bytes[t] + 0.5));
	}
	return r;
}

static int
add_functions(struct entries *l, const struct snapshot *m)
{
	struct profile_sum total = profile_total(m->profile);
	struct profile_group *g;
	size_t n, all;
	int r;

	r = add_entry(l, KIND_TOTAL, "", total.blocks, total.bytes);
	if (r == 0)
		r = snapshot_groups(m, PROFILE_FUNCTION, PROFILE_BYTES, 0, &g,
		    &n, &all);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_entry(l, KIND_FUNCTION, g[i].name, g[i].total.blocks,
		    g[i].total.bytes);
	free(g);
	return r;
}

static int
list_entries(struct judge *j, uv_loop_t *loop, struct entries *l)
{
	struct snapshot m;
	int r;

	r = add_types(l, j->session);
	if (r == 0)
		r = snapshot_init(&m, j->session, &j->o->page, NULL,
		    NULL, false, TREE_HELD);
	if (r < 0)
		return r;
	r = batch_await_names(loop, j->session, m.profile, j->o->timeout_ms,
	    &m.lacking);
	if (r == 0)
		r = add_functions(l, &m);
	if (r == 0 && m.lacking > 0)
		snprintf(j->baseline.why, sizeof j->baseline.why,
		    "names of %s of %s stacks are not known",
		    base_digits(m.lacking).text,
		    base_digits(profile_callers(m.profile)).text);
	snapshot_fini(&m);
	merge_entries(l);
	return r;
}

static const char *
split_word(const char *line, char *out, size_t cap)
{
	size_t len = strcspn(line, " ");

	snprintf(out, cap, "%.*s", (int)len, line);
	return line[len] == ' ' ? line + len + 1 : line + len;
}

static int
parse_entry(struct entries *l, const char *line)
{
	char kind[16], blocks[24], bytes[24];
	uint64_t n[2];

	line = split_word(line, kind, sizeof kind);
	line = split_word(line, blocks, sizeof blocks);
	line = split_word(line, bytes, sizeof bytes);
	if (base_parse_count(blocks, UINT64_MAX, &n[0]) < 0 ||
	    base_parse_count(bytes, UINT64_MAX, &n[1]) < 0)
		return -EINVAL;
	for (int k = 0; k < KINDS; k++)
		if (strcmp(kind, kinds[k]) == 0)
			return add_entry(l, (enum kind)k, line, n[0], n[1]);
	return -EINVAL;
}

/* 0, or an exit status after a complaint; *there: there is such a file. */
static int
load_baseline(const struct options *o, struct entries *l, bool *there)
{
	const char *path = o->check.baseline;
	char *bytes, line[BASE_LINE_MAX + 1];
	struct base_lines lines;
	const char *why;
	bool magic = false;
	size_t len;
	int r;

	r = base_file_read(path, FILE_MAX, &bytes, &len);
	*there = r != -ENOENT;
	if (r == -ENOENT)
		return 0;
	if (r < 0) {
		complain("cannot read '%s': %s", path, base_file_words(r));
		return check_failed(o);
	}
	base_lines_init(&lines, bytes, len);
	while (r == 0 && base_lines_next(&lines, line, &why)) {
		if (why != NULL)
			r = -EINVAL;
		else if (line[0] == '#' || line[0] == '\0')
			continue;
		else if (!magic)
			r = strcmp(line, MAGIC) == 0 ? 0 : -EINVAL;
		else
			r = parse_entry(l, line);
		magic = true;
	}
	free(bytes);
	if (r == 0 && !magic)
		r = -EINVAL;
	if (r < 0)
		complain("'%s', line %u: %s", path, lines.no, r == -ENOMEM ?
		    strerror(ENOMEM) : "this is not a baseline of 'pagek "
		        "check'");
	merge_entries(l);
	return r == 0 ? 0 : PAGEK_FORMAT;
}

struct written {
	const struct entries *l;
	const struct nodes_look *look;
};

static void
put_baseline(FILE *out, const void *arg)
{
	const struct written *w = arg;
	const struct entries *l = w->l;
	const char *target = w->look->target.name;
	char name[4 * CHECK_NAME];

	base_safe_text(name, sizeof name, target, strlen(target), false);
	fprintf(out, MAGIC "\n# what %s held; see pagek-check(1)\n",
	    name[0] != '\0' ? name : "it");
	for (size_t i = 0; i < l->n; i++)
		fprintf(out, "%s %" PRIu64 " %" PRIu64 "%s%s\n",
		    kinds[l->e[i].kind], l->e[i].blocks, l->e[i].bytes,
		    l->e[i].name[0] != '\0' ? " " : "", l->e[i].name);
}

static const struct entry *
find_entry(const struct entries *l, const struct entry *like)
{
	return l->n == 0 ? NULL : bsearch(like, l->e, l->n, sizeof *l->e,
	    by_name);
}

static int
compare_sum(struct judge *j, const struct entry *now, const struct entry *then,
    bool bytes)
{
	double base = then == NULL ? 0 : (double)(bytes ? then->bytes :
	    then->blocks);
	double was = (double)(bytes ? now->bytes : now->blocks);
	double most = base * (1 + j->o->check.tolerance) +
	    (bytes ? SLACK_BYTES : SLACK_BLOCKS);
	struct finding *rows;

	if (was <= most)
		return 0;
	rows = reallocarray(j->baseline.row, j->baseline.rows + 1, sizeof *rows);
	if (rows == NULL)
		return -ENOMEM;
	j->baseline.row = rows;
	rows += j->baseline.rows++;
	*rows = (struct finding){ .what = kinds[now->kind], .bytes = bytes,
		.base = base, .most = most, .worst = was, .seen = true,
		.at_ms = j->ms, .over_ms = j->ms, .verdict = CHECK_EXCEEDED };
	snprintf(rows->name, sizeof rows->name, "%s", now->name);
	return 0;
}

static int
compare_all(struct judge *j, const struct entries *now,
    const struct entries *then, bool named)
{
	int r = 0;

	for (size_t i = 0; i < now->n && r == 0; i++) {
		const struct entry *e = find_entry(then, &now->e[i]);

		/* Without its name, a function would be a new one. */
		if (now->e[i].kind == KIND_FUNCTION && !named)
			continue;
		j->baseline.compared++;
		r = compare_sum(j, &now->e[i], e, true);
		if (r == 0)
			r = compare_sum(j, &now->e[i], e, false);
	}
	j->baseline.state = BASELINE_COMPARED;
	if (r < 0)
		complain("cannot compare: %s", strerror(-r));
	return r;
}

static void
set_why(struct judge *j, const char *why)
{
	snprintf(j->baseline.why, sizeof j->baseline.why, "%s", why);
}

static int
save_whole(struct judge *j, const struct entries *now)
{
	int r;

	if (j->baseline.why[0] != '\0')
		return 0;
	/* The mode of any new file, for it may lie in a repository. */
	r = output_replace(j->o->check.baseline, put_baseline,
	    &(struct written){ now, j->look });
	if (r == 0) {
		j->baseline.state = BASELINE_SAVED;
		return 0;
	}
	set_why(j, base_file_words(r));
	return check_failed(j->o);
}

static int
check_entries(struct judge *j, uv_loop_t *loop, struct entries *now,
    struct entries *then)
{
	bool there = false, named;
	int r;

	if (!option_given(j->o, OPTION_SAVE_BASELINE)) {
		r = load_baseline(j->o, then, &there);
		if (r != 0) {
			set_why(j, "it cannot be read");
			return r;
		}
	}
	if (j->watched && !j->blind) {
		r = list_entries(j, loop, now);
		if (r < 0) {
			complain("cannot compare: %s", strerror(-r));
			set_why(j, strerror(-r));
			return check_failed(j->o);
		}
	}
	named = j->baseline.why[0] == '\0';
	if (!j->watched)
		set_why(j, "nothing was watched");
	else if (j->blind)
		set_why(j, CHECK_BLIND);
	else if (named && !j->complete)
		judge_loss(j, j->baseline.why);
	if (there && j->watched && !j->blind)
		return compare_all(j, now, then, named) < 0 ?
		    check_failed(j->o) : 0;
	return there ? 0 : save_whole(j, now);
}

int
baseline_prepare(const struct options *o)
{
	struct entries then = { 0 };
	bool there = false;
	int r = 0;

	if (o->check.baseline == NULL)
		return 0;
	if (!option_given(o, OPTION_SAVE_BASELINE))
		r = load_baseline(o, &then, &there);
	free(then.e);
	if (r != 0 || there)
		return r;
	/* An error of writing is reported before a long test. */
	r = base_file_replaceable(o->check.baseline);
	if (r == 0)
		return 0;
	complain("cannot write '%s': %s", o->check.baseline, base_file_words(r));
	return check_failed(o);
}

int
baseline_check(struct judge *j, uv_loop_t *loop)
{
	struct entries now = { 0 }, then = { 0 };
	int r;

	if (j->o->check.baseline == NULL)
		return 0;
	r = check_entries(j, loop, &now, &then);
	free(now.e);
	free(then.e);
	return r;
}
