/*
 * The state of the stream, in a word for line 1 and in sentences below it.
 *
 * An empty list and a lost link must never look alike.  Records that were lost
 * before the node's list make it INCOMPLETE to the end of the stream.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../history/history.h"
#include "../rows/follow.h"
#include "layout.h"

#define STALE_MS 2000	/* an older picture is marked STALE */

static const struct {
	const char *name;
	const char *why;	/* when the node gives no reason */
	enum page_mark mark;
	bool stale;
} states[] = {
	[NODES_CONNECTING] = { "CONNECTING", "asking the node for its stream",
	    PAGE_WARN, true },
	[NODES_LIVE] = { "LIVE", "", PAGE_PLAIN, false },
	[NODES_DORMANT] = { "DORMANT", "it logs nothing until it is armed: "
	    "by :arm, or by 'pagek arm'", PAGE_WARN, true },
	[NODES_ENDED] = { "ENDED", "the target has ended", PAGE_BAD, true },
	[NODES_CORRUPT] = { "CORRUPT",
	    "the target wrote invalid records: its stream is not read any more",
	    PAGE_BAD, true },
	[NODES_NO_DATA] = { "NO DATA", "its allocator is not hooked",
	    PAGE_WARN, true },
	[NODES_NO_ALLOCLOG] = { "NO ALLOCLOG",
	    "the node has no data stream of that name", PAGE_WARN, true },
	[NODES_UNREACHABLE] = { "UNREACHABLE", "the link to the node is lost",
	    PAGE_BAD, true },
	[NODES_DENIED] = { "DENIED", "the node does not let this user read",
	    PAGE_BAD, true },
	[NODES_VERSION] = { "VERSION",
	    "node and page speak no common version", PAGE_BAD, true },
};

const char *
page_state_name(enum nodes_state state)
{
	return (size_t)state < BASE_NELEM(states) ? states[state].name : NULL;
}

const char *
page_look_state(const struct nodes_look *look)
{
	return look->replay.on && look->state == NODES_LIVE ? "REPLAY" :
	    page_state_name(look->state);
}

bool
page_time_stands(const struct nodes_look *look)
{
	return look->replay.on && look->replay.state == WIRE_REPLAY_PAUSED;
}

const char *
page_target_state(uint32_t state)
{
	static const char *const names[] = {
		[WIRE_S_LIVE] = "LIVE",
		[WIRE_S_ENDED] = "ENDED",
		[WIRE_S_CORRUPT] = "CORRUPT",
		[WIRE_S_NO_DATA] = "NO DATA",
		[WIRE_S_EXECED] = "EXECED",
		[WIRE_S_DORMANT] = "DORMANT",
	};

	return state < BASE_NELEM(names) ? names[state] : NULL;
}

/* Since when events of a capture are missing; "" not known, or none are. */
static const char *
missing_since(const struct nodes_look *look)
{
	return look->replay.on && !look->complete &&
	    strncmp(look->reason, WIRE_REPLAY_MISSING,
	    strlen(WIRE_REPLAY_MISSING)) == 0 ? look->reason : "";
}

void
page_lack_text(const struct nodes_look *look, char out[PAGE_LACK_TEXT])
{
	uint64_t lost = page_lost(look);
	char count[32];
	size_t len = 0;

	out[0] = '\0';
	base_group_digits(count, sizeof count, lost);
	if (lost > 0)
		base_append(out, PAGE_LACK_TEXT, &len, "%s record%s lost",
		    count, lost == 1 ? " was" : "s were");
	base_group_digits(count, sizeof count, look->loss.full);
	if (look->loss.full > 0)
		base_append(out, PAGE_LACK_TEXT, &len, "%sthe list was full, "
		    "%s block%s not in it", lost > 0 ? ", and " : "", count,
		    look->loss.full == 1 ? " is" : "s are");
	if (look->loss.doubt != STREAM_SURE)
		base_append(out, PAGE_LACK_TEXT, &len, "%s%s",
		    len > 0 ? ", and " : "",
		    stream_doubt_text(look->loss.doubt));
	if (missing_since(look)[0] != '\0')
		base_append(out, PAGE_LACK_TEXT, &len, "%s%s",
		    len > 0 ? ", and " : "", missing_since(look));
	if (lost > 0 || look->loss.unsure || look->loss.full == 0)
		base_append(out, PAGE_LACK_TEXT, &len, "%s%s",
		    len > 0 ? ": " : "", page_lost_means(look));
}

bool
page_target_is_complete(const struct nodes_target *t)
{
	return t->n[WIRE_N_LOST] == 0 && t->n[WIRE_N_FULL] == 0 &&
	    t->n[WIRE_N_UNSURE] == 0;
}

bool
page_sum_is_complete(const struct nodes_sum *sum)
{
	return sum->incomplete == 0 && sum->unknown == 0;
}

void
page_sum_lack(const struct nodes_sum *sum, char out[PAGE_REMARKS_TEXT])
{
	size_t len = 0;

	out[0] = '\0';
	if (sum->unknown > 0)
		base_append(out, PAGE_REMARKS_TEXT, &len, "%s without data",
		    base_digits(sum->unknown).text);
	if (sum->incomplete > 0)
		base_append(out, PAGE_REMARKS_TEXT, &len, "%s%s INCOMPLETE",
		    len > 0 ? ", " : "", base_digits(sum->incomplete).text);
}

void
page_sum_text(const struct nodes_sum *sum, char out[PAGE_REMARKS_TEXT])
{
	const char *about = page_about(sum->sampled);
	char bytes[24], peaks[24], lack[PAGE_REMARKS_TEXT];
	size_t len = 0;

	base_human_bytes(bytes, sizeof bytes, sum->bytes);
	base_human_bytes(peaks, sizeof peaks, sum->peaks);
	page_sum_lack(sum, lack);
	base_append(out, PAGE_REMARKS_TEXT, &len, "%s%s in %s%s block%s of %s "
	    "process%s", about, bytes, about, base_digits(sum->blocks).text,
	    sum->blocks == 1 ? "" : "s", base_digits(sum->processes).text,
	    sum->processes == 1 ? "" : "es");
	if (lack[0] != '\0')
		base_append(out, PAGE_REMARKS_TEXT, &len, ", %s", lack);
	if (sum->processes > 1)
		base_append(out, PAGE_REMARKS_TEXT, &len, "; sum of their "
		    "peaks: %s%s", about, peaks);
}

void
page_target_remarks(const struct nodes_target *t, char out[PAGE_REMARKS_TEXT])
{
	uint64_t lost = t->n[WIRE_N_LOST], full = t->n[WIRE_N_FULL];
	const char *doubt = stream_doubt_text(t->n[WIRE_N_UNSURE]);
	const char *advice = nodes_death_advice(t->status);
	char n[32];
	size_t len = 0;

	out[0] = '\0';
	if (!page_target_is_complete(t))
		base_append(out, PAGE_REMARKS_TEXT, &len, "INCOMPLETE");
	base_group_digits(n, sizeof n, lost);
	if (lost > 0)
		base_append(out, PAGE_REMARKS_TEXT, &len, ": %s lost", n);
	base_group_digits(n, sizeof n, full);
	if (full > 0)
		base_append(out, PAGE_REMARKS_TEXT, &len, "%slist full: %s "
		    "block%s not listed", lost > 0 ? ", " : ": ", n,
		    full == 1 ? "" : "s");
	if (doubt[0] != '\0')
		base_append(out, PAGE_REMARKS_TEXT, &len, "%s%s",
		    lost > 0 || full > 0 ? ", " : ": ", doubt);
	base_group_digits(n, sizeof n, t->n[WIRE_N_UNFINISHED]);
	if (t->n[WIRE_N_UNFINISHED] > 0)
		base_append(out, PAGE_REMARKS_TEXT, &len,
		    ", %s not finished", n);
	base_append(out, PAGE_REMARKS_TEXT, &len, "%s%s",
	    len > 0 && t->reason[0] != '\0' ? "; " : "", t->reason);
	base_append(out, PAGE_REMARKS_TEXT, &len, "%s%s",
	    len > 0 && advice[0] != '\0' ? "; " : "", advice);
}

void
page_exit_text(int32_t status, char out[PAGE_EXIT_TEXT])
{
	size_t len = 0;

	out[0] = '\0';
	if (status < 0)
		return;
	if (WIFEXITED(status))
		base_append(out, PAGE_EXIT_TEXT, &len, "exit %d",
		    WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		base_append(out, PAGE_EXIT_TEXT, &len, "signal %d",
		    WTERMSIG(status));
}

static void append_word(struct page_state *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

static void
append_word(struct page_state *st, const char *format, ...)
{
	size_t len = strlen(st->word);
	char text[sizeof st->word];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	base_append_text(st->word, sizeof st->word, &len, text);
}

static void
set_warning(struct page_state *st, const char *brief)
{
	base_copy_text(st->brief, sizeof st->brief, brief);
	st->mark = PAGE_WARN;
	st->plain = false;
}

static void
append_notice(struct page_state *st, const char *sentence)
{
	size_t len = strlen(st->notice);

	if (sentence[0] != '\0')
		base_append(st->notice, sizeof st->notice, &len, "%s%s",
		    len > 0 ? ".  " : "", sentence);
}

/*
 * The number is a lower bound: after damage or the end of a keeper, and of a
 * damaged device before this session, nobody has counted all of them.
 */
static bool
is_bound(const struct nodes_look *look, unsigned cause)
{
	return cause == STREAM_CORRUPT || cause == STREAM_RESTART ||
	    (cause == 0 && look->keeper != NULL &&
	    look->keeper[WIRE_N_SKIPPED] > 0);
}

/*
 * A block that a target cannot remember as sampled has neither its allocation
 * nor its free logged.  Any other lost record may have been a free.
 */
const char *
page_lost_means(const struct nodes_look *look)
{
	static const char either[] = "blocks may be missing, blocks listed "
	    "may be freed";
	bool stale = false;
	unsigned i;

	for (i = 1; i < STREAM_CAUSES; i++)
		stale = stale || (i != STREAM_SAMPLE_FULL && look->loss.lost[i] > 0);
	if (stale || (look->sample == 0 && look->loss.lost[0] > 0))
		return look->loss.full > 0 ? either : "blocks listed may be freed";
	/* Records lost before this session may be of either kind. */
	if (look->loss.lost[0] > 0 || look->loss.unsure ||
	    (look->loss.lost[STREAM_SAMPLE_FULL] == 0 && look->loss.full == 0))
		return either;
	return "blocks are missing";
}

void
page_lost_text(const struct page *page, const struct nodes_look *look,
    char out[PAGE_LOST_TEXT])
{
	const char *since = missing_since(look);
	char count[32], when[32] = "the start", by[224] = "";
	size_t len = 0, n = 0;
	unsigned i;

	if (look->loss.since_wall_ms != 0)
		page_clock(page, look, look->loss.since_wall_ms, when);
	for (i = 0; i < STREAM_CAUSES; i++) {
		if (look->loss.lost[i] == 0)
			continue;
		base_group_digits(count, sizeof count, look->loss.lost[i]);
		base_append(by, sizeof by, &len, "%s%s%s %s",
		    len > 0 ? ", " : "lost: ", is_bound(look, i) ? ">= " : "",
		    count, i > 0 ? stream_cause_text(i) : look->replay.on ?
		    "missing in the capture" :
		    "before this page connected");
	}
	base_group_digits(count, sizeof count, look->loss.mended);
	if (len > 0 && look->loss.mended > 0)
		base_append(by, sizeof by, &len, ", of which %s recovered",
		    count);
	base_group_digits(count, sizeof count, look->loss.full);
	if (look->loss.full > 0)
		base_append(by, sizeof by, &len, "%slist full: %s block%s not "
		    "listed", len > 0 ? ".  " : "", count,
		    look->loss.full == 1 ? "" : "s");
	if (look->complete)
		base_append(out, PAGE_LOST_TEXT, &n,
		    "%s; the list is being read again", by);
	else
		base_append(out, PAGE_LOST_TEXT, &n, "%s%sINCOMPLETE%s%s: "
		    "%s%s%s%s%s", by, len > 0 ? ".  " : "",
		    look->replay.on ? "" : " since ",
		    look->replay.on ? "" : when,
		    since, since[0] != '\0' ? ": " : "", stream_doubt_text(look->loss.doubt),
		    look->loss.doubt != STREAM_SURE ? ": " : "",
		    page_lost_means(look));
}

static void
say_lost(const struct page *page, const struct nodes_look *look,
    struct page_state *st)
{
	char text[PAGE_LOST_TEXT];

	page_lost_text(page, look, text);
	append_notice(st, text);
}

static void
say_ended(const struct page *page, const struct page_view *v,
    const struct nodes_look *look, struct page_state *st)
{
	uint64_t total;
	struct page_view now = *v;
	char when[16] = "", how[PAGE_EXIT_TEXT], root[PAGE_EXIT_TEXT];
	char count[32], text[320];
	const char *name;
	size_t len = strlen(st->brief), n = 0;

	if (look->target.ended_wall_ms != 0)
		page_clock(page, look, look->target.ended_wall_ms, when);
	page_exit_text(look->target.status, how);
	append_word(st, "%s%s%s%s", when[0] != '\0' ? " " : "", when,
	    how[0] != '\0' ? " " : "", how);
	base_append(st->brief, sizeof st->brief, &len, "%s%s",
	    how[0] != '\0' ? " " : "", how);

	/* At its end, not in the paused picture. */
	if (v->look != look)
		page_view_init(&now, look);
	total = page_view_blocks(&now);
	base_group_digits(count, sizeof count, total);
	base_append(text, sizeof text, &n, "the target has ended");
	if (look->target.status >= 0 && WIFSIGNALED(look->target.status)) {
		name = sigabbrev_np(WTERMSIG(look->target.status));
		base_append(text, sizeof text, &n, " by signal %d (SIG%s)",
		    WTERMSIG(look->target.status), name != NULL ? name : "?");
	} else if (how[0] != '\0') {
		base_append(text, sizeof text, &n, " with %s", how);
	}
	base_append(text, sizeof text, &n, "; %s%s block%s %s live",
	    page_about(look->sample), count, total == 1 ? "" : "s",
	    total == 1 ? "was" : "were");
	append_notice(st, text);
	append_notice(st, nodes_death_advice(look->target.status));
	n = 0;
	if (look->command.tree_ended) {
		base_append(text, sizeof text, &n,
		    "all its processes have ended");
		page_exit_text(look->command.status, root);
		if (root[0] != '\0' && look->command.status != look->target.status)
			base_append(text, sizeof text, &n,
			    "; the command with %s", root);
		if (look->command.output[0] != '\0')
			base_append(text, sizeof text, &n,
			    "; o shows its output");
	} else if (look->command.targets_live > 0) {
		base_append(text, sizeof text, &n,
		    "%u target%s of the node still live: T lists them",
		    look->command.targets_live,
		    look->command.targets_live == 1 ? "" : "s");
	}
	if (n > 0)
		append_notice(st, text);
}

/* Totals and visible rows are exact; the session has no other rows. */
static void
say_window(const struct page *page, struct page_state *st)
{
	const char *word = page->found.all_blocks ? "LOADING" : "WINDOW";
	char rate[16], text[160];
	size_t n = 0;

	append_word(st, "  %s", word);
	set_warning(st, word);
	if (page->found.all_blocks) {
		append_notice(st, "the whole list is being taken");
		return;
	}
	page_rate_text(rate, page->numbers.rate);
	base_append(text, sizeof text, &n, "%s%stoo many records for the whole "
	    "list: visible rows and totals only",
	    page->numbers.rated ? rate : "", page->numbers.rated ? ", " : "");
	append_notice(st, text);
}

static void
say_last_list(const struct page *page, const struct nodes_look *look,
    struct page_state *st)
{
	char when[16], how[PAGE_EXIT_TEXT];

	page_clock(page, look, look->target.ended_wall_ms, when);
	page_exit_text(look->target.status, how);
	snprintf(st->word, sizeof st->word, "%s %s%s%s  LOADING",
	    states[NODES_ENDED].name, when, how[0] != '\0' ? " " : "", how);
	st->name = states[NODES_ENDED].name;
	set_warning(st, st->name);
	append_notice(st,
	    "the target has ended: the whole list is being taken");
}

/* Short captures with milliseconds, long ones without tenths. */
static void
append_seconds(char *out, size_t cap, int64_t ms, int64_t span,
    const char *unit)
{
	size_t len = strlen(out);
	uint64_t n = ms > 0 ? (uint64_t)ms : 0;

	base_append(out, cap, &len, "%s", base_digits(n / 1000).text);
	if (span < 100000)
		base_append(out, cap, &len, ".%03u", (unsigned)(n % 1000));
	base_append(out, cap, &len, "%s", unit);
}

static void
say_replay(const struct nodes_look *look, struct page_state *st)
{
	int64_t span = look->replay.end_ms - look->replay.begin_ms;
	static const char *const names[] = {
		[WIRE_REPLAY_PAUSED] = "REPLAY PAUSED",
		[WIRE_REPLAY_PLAYING] = "REPLAY",
		[WIRE_REPLAY_GOING] = "REPLAY GOING",
	};
	size_t len;
	char text[96];

	st->name = look->replay.state < BASE_NELEM(names) ?
	    names[look->replay.state] : "REPLAY";
	base_copy_text(st->word, sizeof st->word, st->name);
	base_copy_text(st->brief, sizeof st->brief, st->name);
	st->mark = PAGE_WARN;
	st->plain = false;
	append_word(st, "%s", " ");
	append_seconds(st->word, sizeof st->word, look->now_ms -
	    look->replay.begin_ms, span, " of ");
	append_seconds(st->word, sizeof st->word, span, span, " s");
	if (look->replay.speed != 1000)
		append_word(st, " x%g", look->replay.speed / 1000.0);
	len = 0;
	if (look->replay.goal > look->replay.event)
		base_append(text, sizeof text, &len, "%u %%: at event %s, on the "
		    "way to event %s: Esc stops here",
		    (unsigned)(100.0 * (double)look->replay.event /
		    (double)look->replay.goal),
		    base_digits(look->replay.event).text,
		    base_digits(look->replay.goal).text);
	else
		base_append(text, sizeof text, &len, "before event %s",
		    base_digits(look->replay.event).text);
	append_notice(st, text);
}

static void
say_live(const struct page *page, const struct nodes_look *look,
    uint64_t total, struct page_state *st)
{
	char when[16], text[96];
	size_t n = 0;

	if (look->target.ended_wall_ms != 0 && (look->window || !look->settled)) {
		say_last_list(page, look, st);
		return;
	}
	if (look->replay.on)
		say_replay(look, st);
	else if (page->numbers.hz > 0)
		append_word(st, " %u Hz", page->numbers.hz);
	if (look->window) {
		say_window(page, st);
	} else if (!look->settled) {
		append_word(st, "  LOADING");
		set_warning(st, "LOADING");
		append_notice(st, "the list is being taken: not all of its "
		    "blocks are here yet");
	} else if (total == 0) {
		append_word(st, "  EMPTY");
		set_warning(st, "EMPTY");
		base_append(text, sizeof text, &n, "connected, 0 blocks");
		if (page->state.opened_wall_ms != 0) {
			page_clock(page, look, page->state.opened_wall_ms,
			    when);
			base_append(text, sizeof text, &n, " since %s", when);
		}
		append_notice(st, text);
	}
}

/* `brief` unless another one, which matters more, is shown. */
static void
set_mode(struct page_state *st, const char *brief)
{
	if (st->plain)
		set_warning(st, brief);
}

/* Which blocks are listed: of a target armed late, of a sample, since the click. */
static void
say_modes(const struct page *page, const struct nodes_look *look,
    struct page_state *st)
{
	char when[16], text[80], sample[PAGE_SAMPLE_TEXT];
	size_t n = 0;

	if (look->arming.since_wall_ms != 0) {
		page_clock(page, look, look->arming.since_wall_ms, when);
		base_append(text, sizeof text, &n,
		    "armed %s, earlier blocks not listed", when);
		append_notice(st, text);
	}
	if (look->sample != 0) {
		page_sample_text(look->sample, sample);
		append_word(st, "  sampled %s", sample);
		snprintf(text, sizeof text, "SAMPLED %.9s", sample);
		set_mode(st, text);
	}
	if (page->opts.session.since_click) {
		append_word(st, "  since click");
		set_mode(st, "SINCE CLICK");
	}
}

/* The age of the picture, or how long the first one has been waited for. */
static uint64_t
stale_seconds(const struct page *page, const struct page_view *v)
{
	int64_t stale = v->live->stale_ms;
	int64_t s = stale > 0 ? stale / 1000 : page->state.known ?
	    mono_diff_ns(v->now, page->state.at) / 1000000000 : 0;

	return s > 0 ? (uint64_t)s : 0;
}

static void
say_unreachable(const struct page *page, const struct page_view *v,
    struct page_state *st)
{
	const struct nodes_look *look = v->live;
	uint64_t s = stale_seconds(page, v);
	int64_t in = (look->link.retry_ms + 999) / 1000;
	size_t len, n = 0;
	char text[96], age[8];

	page_cell_age(age, s);
	if (s > 0 && look->state == NODES_UNREACHABLE) {
		append_word(st, " %s", age);
		len = strlen(st->brief);
		base_append(st->brief, sizeof st->brief, &len, " %s", age);
	}
	if (look->stale_ms >= 1000) {
		base_append(text, sizeof text, &n, "picture is %s old", age);
		append_notice(st, text);
	}
	if (!look->link.returns)
		return;
	if (look->link.retry_ms > 0)
		append_word(st, "  retry in %ds", (int)in);
	else
		append_word(st, "  trying");
	if (look->link.tries > 0)
		append_word(st, " (%u)", look->link.tries);
	if (!page->cursor.on && page->medium == PAGE_SCREEN &&
	    look->link.retry_ms > 0)
		append_notice(st, "Enter tries now");
}

static void
say_stale(const struct page *page, const struct page_view *v,
    struct page_state *st)
{
	char text[64], age[8];

	st->stale = true;
	st->name = "STALE";
	page_cell_age(age, stale_seconds(page, v));
	append_word(st, "  STALE %s", age);
	snprintf(text, sizeof text, "STALE %s", age);
	set_warning(st, text);
	snprintf(text, sizeof text, "picture is %s old", age);
	append_notice(st, text);
}

/* Records that a snapshot has made good are in the notice alone. */
static void
say_loss_word(const struct nodes_look *look, struct page_state *st)
{
	uint64_t lost = page_lost_for_good(look);
	char exact[32], fit[8];
	bool bound = false;

	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		bound = bound || (look->loss.lost[i] > 0 && is_bound(look, i));
	base_group_digits(exact, sizeof exact, lost);
	base_format_grouped(fit, 5, lost);
	if (lost > 0)
		append_word(st, "  INCOMPLETE %s%s", bound ? ">=" : "+", exact);
	else
		append_word(st, "  INCOMPLETE");
	if (st->stale)
		return;
	if (lost > 0)
		snprintf(st->brief, sizeof st->brief, "INCOMPLETE +%.5s",
		    fit + strspn(fit, " "));
	else
		snprintf(st->brief, sizeof st->brief, "INCOMPLETE");
	st->mark = PAGE_BAD;
	st->plain = false;
}

static void
say_paused(const struct page *page, const struct page_view *v,
    struct page_state *st)
{
	int64_t ms;
	uint64_t since = v->live->work.total_records - v->look->work.total_records;
	char count[32], fit[8], word[sizeof st->word];
	size_t len = 0;

	if (v->live->work.total_records < v->look->work.total_records)
		since = 0;
	base_group_digits(count, sizeof count, since);
	base_format_grouped(fit, 5, since);
	memcpy(word, st->word, sizeof word);
	if (page_step_age(page, &ms)) {
		page_clock(page, v->look, v->look->node_wall_ms, count);
		base_append(st->word, sizeof st->word, &len,
		    "PAUSED %s (-%lld s)%s%s", count,
		    (long long)(ms + 500) / 1000, st->plain ? "" : "  ",
		    st->plain ? "" : word);
		if (!st->stale)
			snprintf(st->brief, sizeof st->brief, "PAUSED %.8s",
			    count);
	} else {
		base_append(st->word, sizeof st->word, &len, "PAUSED +%s%s%s",
		    count, st->plain ? "" : "  ", st->plain ? "" : word);
		if (!st->stale)
			snprintf(st->brief, sizeof st->brief, "PAUSED +%.5s",
			    fit + strspn(fit, " "));
	}
	if (!st->stale)
		st->name = "PAUSED";
	if (st->mark == PAGE_PLAIN)
		st->mark = PAGE_WARN;
	st->plain = false;
}

void
page_state_get(const struct page *page, const struct page_view *v,
    struct page_state *st)
{
	const struct nodes_look *look = v->live;
	enum nodes_state s = look->state;
	uint64_t total = page_view_total(v);
	char follow[PAGE_FOLLOW_TEXT];
	bool live, mending;

	if ((size_t)s >= BASE_NELEM(states) || states[s].name == NULL)
		s = NODES_CONNECTING;
	live = s == NODES_LIVE;
	*st = (struct page_state){
		.name = states[s].name,
		.mark = states[s].mark,
		.stale = states[s].stale,
		.plain = live,
	};
	base_copy_text(st->word, sizeof st->word, st->name);
	base_copy_text(st->brief, sizeof st->brief, st->name);

	if (look->command.not_run) {
		append_notice(st, look->command.trouble);
	} else if (live) {
		say_live(page, look, total, st);
	} else if (s == NODES_ENDED) {
		say_ended(page, v, look, st);
	} else {
		append_notice(st, look->reason[0] != '\0' ? look->reason :
		    states[s].why);
		if (!look->link.up || s == NODES_UNREACHABLE)
			say_unreachable(page, v, st);
	}
	if (live && look->stale_ms >= STALE_MS)
		say_stale(page, v, st);
	if (s != NODES_CONNECTING && s != NODES_DORMANT &&
	    s != NODES_NO_DATA && look->list != NULL)
		say_modes(page, look, st);
	/* A snapshot makes good what was lost after the node's list. */
	mending = live && !look->settled && page_lost_for_good(look) > 0;
	if (s != NODES_CONNECTING && (!look->complete || mending) &&
	    (look->list != NULL || page_lost(look) > 0)) {
		say_loss_word(look, st);
		say_lost(page, look, st);
	}
	if ((live || s == NODES_ENDED) && look->reason[0] != '\0' &&
	    missing_since(look)[0] == '\0')
		append_notice(st, look->reason);
	if (v->look != v->live)
		say_paused(page, v, st);
	page_follow_text(page, follow);
	if (follow[0] != '\0')
		append_word(st, "  %s", follow);
}
