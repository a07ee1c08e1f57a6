#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../nodes/nodes.h"
#include "../../batch/batch.h"
#include "../../cli/pump.h"
#include "refcnt.h"

#define SHOWN_MOST (UINT64_C(1) << 18)	/* pages of a range */
#define RANGES 1024		/* that all blocks are joined to, at most */
#define PERIOD_LEAST_MS 50	/* that a node takes */

static bool
has_copy(void *session)
{
	return !nodes_session_refcnt(session)->pending;
}

static bool
has_counted(void *session)
{
	return !nodes_session_refcnt(session)->count.pending;
}

/* The exit status of an error of the node, after a complaint. */
static int
fail(const struct options *o, int err, const char *why)
{
	if (err == -EAGAIN) {
		complain("%s: the node did not answer within %g s", o->target.word,
		    o->timeout_ms / 1000.0);
		return PAGEK_TIMEOUT;
	}
	complain("%s: %s", o->target.word, why[0] != '\0' ? why : strerror(-err));
	return err == -EPERM ? PAGEK_DENIED : err == -ENOTSUP ? PAGEK_FORMAT :
	    err == -ENOENT ? PAGEK_NO_TARGET : PAGEK_FAILED;
}

/* The blocks of the target; NULL: not all of them are here. */
static const struct blklist *
whole_list(struct nodes_session *s)
{
	const struct nodes_look *look = nodes_session_look(s);

	return batch_has_list(look) && !look->window ? look->list : NULL;
}

static bool
has_range(const struct options *o)
{
	return o->refcnt.numbers >= 2;
}

/* PAGEK_OK, or the exit status after a complaint. */
static int
find_ranges(const struct options *o, struct nodes_session *s,
    struct page_ranges *r)
{
	const struct blklist *list = whole_list(s);
	int err = 0;

	if (has_range(o)) {
		err = page_ranges_add(r, o->refcnt.vaddr, o->refcnt.len);
	} else if (list == NULL) {
		complain("%s: its blocks are not known: give an ADDRESS and a "
		    "LENGTH", o->target.word);
		return PAGEK_NO_TARGET;
	} else if (option_given(o, OPTION_BLOCK)) {
		err = page_ranges_add_block_at(r, list, o->refcnt.block);
	} else {
		err = page_ranges_add_blocks(r, list, NULL, NULL);
		if (err == 0)
			err = page_ranges_join(r, 0, RANGES);
	}
	if (err == -ENOENT)
		complain("%s: no block that is held has the address 0x%" PRIx64,
		    o->target.word, o->refcnt.block);
	else if (err < 0)
		complain("cannot find the pages: %s", strerror(-err));
	return err < 0 ? PAGEK_FAILED : PAGEK_OK;
}

static int
ask_range(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    const struct refcnt_range *r)
{
	const struct nodes_count *c;
	int err;

	if (option_given(o, OPTION_MOVE))
		err = nodes_session_move(s, r->vaddr, r->len, o->refcnt.node);
	else if (option_given(o, OPTION_NODES))
		err = nodes_session_count_by(s, &(struct refcnt_range){
		    .vaddr = r->vaddr, .len = r->len,
		    .source = (enum refcnt_source)o->refcnt.source },
		    (uint32_t)o->refcnt.period_ms, o->refcnt.nodes);
	else
		err = nodes_session_count(s, r->vaddr, r->len, o->refcnt.source,
		    option_given(o, OPTION_ENABLE), (uint32_t)o->refcnt.period_ms);
	if (err == 0)
		pump(loop, s, o->timeout_ms, has_counted, s);
	c = &nodes_session_refcnt(s)->count;
	if (err == 0)
		err = c->pending ? -EAGAIN : c->error;
	if (err == 0 && option_given(o, OPTION_NODES) && c->nodes == 0)
		return fail(o, -ENOTSUP, "the node is of an older version: it counts "
		    "these pages by the nodes of its machine");
	return err < 0 ? fail(o, err, c->why) : PAGEK_OK;
}

static void
report(const struct options *o, struct nodes_session *s,
    const struct page_ranges *r)
{
	const struct nodes_look *look = nodes_session_look(s);
	const struct nodes_count *c = &nodes_session_refcnt(s)->count;
	uint64_t pages = page_ranges_pages(r);
	char target[64];

	base_safe_text(target, sizeof target, look->target.name,
	    strlen(look->target.name), o->page.ascii);
	if (option_given(o, OPTION_MOVE))
		printf("%s[%ld] %s pages are on node %u now, %s are not\n", target,
		    (long)look->target.pid, base_digits(c->moved).text,
		    o->refcnt.node, base_digits(c->left).text);
	else
		printf("%s[%ld] %s page%s %s now; the target has %s counted "
		    "page%s\n", target, (long)look->target.pid,
		    base_digits(pages).text, pages == 1 ? " is" : "s are",
		    option_given(o, OPTION_ENABLE) ? "counted" : "not counted",
		    base_digits(c->pages).text, c->pages == 1 ? "" : "s");
	if (c->why[0] != '\0')
		notice("%s", c->why);
}

static int
change(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	struct page_ranges r = { 0 };
	int status = find_ranges(o, s, &r);
	size_t done = 0;

	while (status == PAGEK_OK && done < r.n) {
		status = ask_range(o, loop, s, &r.range[done]);
		done += status == PAGEK_OK;
	}
	if (done > 0 && done < r.n)
		notice("%s: before that, %zu of %zu ranges were switched %s",
		    o->target.word, done, r.n, option_given(o, OPTION_ENABLE) ?
		    "on" : "off");
	if (status == PAGEK_OK && r.n == 0)
		notice("%s: it holds no blocks", o->target.word);
	if (status == PAGEK_OK && !option_given(o, OPTION_QUIET))
		report(o, s, &r);
	if (status == PAGEK_OK && nodes_session_refcnt(s)->count.left > 0)
		status = PAGEK_FAILED;
	page_ranges_fini(&r);
	return output_close(stdout, NULL, status);
}

static int
ask_pages(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    uint64_t from, uint64_t to)
{
	int err = nodes_session_ask_refcnt(s, from, to, o->refcnt.plane);
	const struct nodes_refcnt *t;

	if (err == 0)
		pump(loop, s, o->timeout_ms, has_copy, s);
	t = nodes_session_refcnt(s);
	if (err == 0)
		err = t->pending ? -EAGAIN : t->error;
	return err < 0 ? fail(o, err, t->why) : PAGEK_OK;
}

static int
print_pages(const struct options *o, struct nodes_session *s,
    const struct refcnt_range *range)
{
	const struct nodes_refcnt *t = nodes_session_refcnt(s);
	struct page_rows rows = { .plane = o->refcnt.plane,
		.hottest = option_given(o, OPTION_TOP),
		.look = nodes_session_look(s), .refcnt = t,
		.copy.now_ms = t->now_ms };
	int err, status;

	if (range != NULL)
		err = range->len == 0 ? 0 : page_rows_add_range(&rows.copy, t->page,
		    t->n, range->vaddr, range->vaddr + (range->len - 1) + 1);
	else
		err = refcnt_copy_add(&rows.copy, t->page, t->n);
	status = err < 0 ? PAGEK_FAILED : page_rows_print(&rows, o);
	if (err < 0)
		complain("no memory for the pages");
	else if (t->nranges == 0 && rows.look->state != NODES_LIVE)
		notice("not counted: only pages of a live process can be");
	else if (t->nranges == 0)
		notice("not counted: %s%s'pagek refcnt --enable %s ADDRESS LENGTH' "
		    "begins", t->why, t->why[0] != '\0' ? ": " : "",
		    o->target.word);
	else if (t->why[0] != '\0')
		notice("%s", t->why);
	refcnt_copy_fini(&rows.copy);
	return status;
}

static int
show(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	bool one = has_range(o) || option_given(o, OPTION_BLOCK);
	struct page_ranges r = { 0 };
	uint64_t from = 0, to = 0;
	int status = PAGEK_OK;

	if (one)
		status = find_ranges(o, s, &r);
	if (status == PAGEK_OK && one) {
		from = r.range[0].vaddr & ~(uint64_t)(REFCNT_PAGE - 1);
		/* 0: to the end. */
		to = r.range[0].vaddr + r.range[0].len;
	}
	if (status == PAGEK_OK)
		status = ask_pages(o, loop, s, from, to);
	if (status == PAGEK_OK)
		status = print_pages(o, s, one ? &r.range[0] : NULL);
	page_ranges_fini(&r);
	return status;
}

static bool
has_process(const struct nodes_look *look)
{
	return look->state == NODES_DORMANT || batch_has_list(look);
}

static bool
changes(const struct options *o)
{
	return option_given(o, OPTION_ENABLE) || option_given(o, OPTION_DISABLE) ||
	    option_given(o, OPTION_MOVE);
}

static int
check_actions(struct parse *p)
{
	static const enum option_id actions[] = { OPTION_ENABLE, OPTION_DISABLE,
		OPTION_MOVE, OPTION_MEMORY, OPTION_IMPORT, OPTION_TOP };
	const struct options *o = p->o;
	int first = -1;

	for (size_t i = 0; i < BASE_NELEM(actions); i++) {
		if (!option_given(o, actions[i]) || (actions[i] == OPTION_TOP &&
		    first >= 0 && actions[first] == OPTION_IMPORT))
			continue;
		if (first >= 0)
			return option_fail(p, "--%s and --%s exclude each other",
			    option_name(actions[first]),
			    option_name(actions[i]));
		first = (int)i;
	}
	return 0;
}

static int
check_beside(struct parse *p)
{
	static const struct {
		enum option_id id, with, or;
	} rows[] = {
		{ OPTION_SOURCE, OPTION_ENABLE, OPTION_ENABLE },
		{ OPTION_PERIOD, OPTION_ENABLE, OPTION_ENABLE },
		{ OPTION_ALL, OPTION_ENABLE, OPTION_DISABLE },
		{ OPTION_ROOT, OPTION_MEMORY, OPTION_IMPORT },
	};
	static const enum option_id data[] = { OPTION_FORMAT, OPTION_FIELDS,
		OPTION_LIMIT, OPTION_OUTPUT };
	const struct options *o = p->o;

	for (size_t i = 0; changes(o) && i < BASE_NELEM(data); i++)
		if (option_given(o, data[i]))
			return option_fail(p, "--%s is for counts, and --enable, "
			    "--disable and --move print none",
			    option_name(data[i]));
	if (option_given(o, OPTION_NODES) && !option_given(o, OPTION_ENABLE) &&
	    !option_given(o, OPTION_MEMORY) && !option_given(o, OPTION_IMPORT))
		return option_fail(p, "--nodes is for --enable, --memory or "
		    "--import");
	for (size_t i = 0; i < BASE_NELEM(rows); i++)
		if (option_given(o, rows[i].id) &&
		    !option_given(o, rows[i].with) &&
		    !option_given(o, rows[i].or))
			return rows[i].with == rows[i].or ?
			    option_fail(p, "--%s is for --%s",
			    option_name(rows[i].id),
			    option_name(rows[i].with)) :
			    option_fail(p, "--%s is for --%s or --%s",
			    option_name(rows[i].id), option_name(rows[i].with),
			    option_name(rows[i].or));
	return 0;
}

static int
check_range(struct parse *p)
{
	const struct refcnt_options *r = &p->o->refcnt;
	bool switches = option_given(p->o, OPTION_ENABLE) ||
	    option_given(p->o, OPTION_DISABLE);
	unsigned ways = (r->numbers > 0) + option_given(p->o, OPTION_BLOCK) +
	    option_given(p->o, OPTION_ALL);

	if (option_given(p->o, OPTION_MOVE))
		return r->numbers == 3 && ways == 1 ? 0 : option_fail(p,
		    "--move needs an ADDRESS, a LENGTH and a NODE, as in "
		    "--move pid:4711 0x7f3c00402000 64k 1");
	if (r->numbers == 1 || r->numbers > 2)
		return option_fail(p, r->numbers == 1 ?
		    "an ADDRESS needs a LENGTH, as in 0x7f3c00402000 64k" :
		    "a NODE is for --move");
	if (ways > 1)
		return option_fail(p, "an ADDRESS with its LENGTH, --block and "
		    "--all exclude each other");
	if (switches && ways == 0)
		return option_fail(p, "--%s needs an ADDRESS and a LENGTH, "
		    "--block ADDRESS, or --all", option_given(p->o,
		    OPTION_ENABLE) ? "enable" : "disable");
	return 0;
}

static int
check_length(struct parse *p)
{
	const struct refcnt_options *r = &p->o->refcnt;
	bool acts = changes(p->o);

	if (r->numbers < 2)
		return 0;
	if (r->len == 0)
		return acts ? option_fail(p, "a range of 0 bytes has no pages: give a "
		    "LENGTH such as 4096 or 64k") : 0;
	if (r->vaddr + (r->len - 1) < r->vaddr)
		return option_fail(p, "the range goes beyond the last address: give "
		    "a shorter LENGTH");
	return !acts && r->len / REFCNT_PAGE >= SHOWN_MOST ? option_fail(p,
	    "the range has more than %s pages: give a shorter LENGTH, or none to "
	    "see the pages that are counted", base_digits(SHOWN_MOST).text) : 0;
}

int
cmd_refcnt_check(struct parse *p)
{
	static const enum option_id planes[] = { OPTION_HW, OPTION_EXT,
		OPTION_WIDE };
	struct options *o = p->o;
	char why[768];
	unsigned n = 0;
	int r = check_actions(p);

	o->refcnt.plane = REFCNT_WIDE;
	for (unsigned i = 0; i < BASE_NELEM(planes); i++)
		if (option_given(o, planes[i])) {
			o->refcnt.plane = (enum refcnt_plane)i;
			n++;
		}
	if (r == 0 && n > 1)
		r = option_fail(p, "--hw, --ext and --wide exclude each other");
	if (r == 0)
		r = check_beside(p);
	if (r == 0)
		r = check_range(p);
	if (r == 0)
		r = check_length(p);
	if (r == 0 && option_given(o, OPTION_PERIOD) &&
	    (o->refcnt.period_ms < PERIOD_LEAST_MS ||
	    o->refcnt.period_ms > WIRE_COUNT_PERIOD))
		r = option_fail(p, "--period=%s: not a time from %g to %d seconds",
		    o->text[OPTION_PERIOD], PERIOD_LEAST_MS / 1000.0,
		    WIRE_COUNT_PERIOD / 1000);
	if (r == 0 && option_given(o, OPTION_IMPORT) && (o->target_given ||
	    o->refcnt.numbers > 0))
		r = option_fail(p, "--import reads a file, and no TARGET");
	if (r == 0 && option_given(o, OPTION_ROOT) && o->target_given)
		r = option_fail(p, "--root reads copies of this machine's files, and "
		    "asks no TARGET");
	if (r == 0 && o->fields != NULL && !options_as_data(o))
		r = option_fail(p, "--fields is for programs: give "
		    "--format=json, ndjson or csv too");
	if (r == 0 && o->fields != NULL && !option_given(o, OPTION_MEMORY) &&
	    !page_rows_fields(o->fields, why, sizeof why))
		r = option_fail(p, "%s", why);
	return r;
}

int
cmd_refcnt(const struct options *o, uv_loop_t *loop)
{
	if (option_given(o, OPTION_IMPORT))
		return memory_import(o);
	if (option_given(o, OPTION_MEMORY))
		return o->target_given ? batch_visit(o, loop, has_process,
		    memory_print) : memory_print(o, loop, NULL);
	return batch_visit(o, loop, has_process, changes(o) ? change : show);
}
