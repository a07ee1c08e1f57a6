/*
 * The generators' table, and demo:note.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../images/images.h"
#include "../keeper/node.h"
#include "busy.h"
#include "demo.h"

/* 2004-07-13 13:30:00 of a clock without a zone, as milliseconds since 1970. */
#define NOTE_BEGAN_MS INT64_C(1089725400000)
#define NOTE_SHOWN_S 39		/* age of the oldest block in the note's picture */
#define NOTE_NODE 0x0590

struct note_block {
	uint32_t at_s;			/* after the clock's begin */
	uint32_t addr;
	uint16_t size;
	uint8_t type;
	uint16_t requester;		/* friendly node number; 0 none */
};

static const struct note_block note_blocks[] = {
	{ 0, 0x008e6628, 0x30, TYPE_LOCREQ, 0 },
	{ 26, 0x008e65d0, 0x50, TYPE_AHDRMSG, 0 },
	{ 26, 0x008e6698, 0x18, TYPE_INTPTRS, 0 },
	{ 26, 0x008e66b8, 0x48, TYPE_ACREQ, 0xab86 },
	{ 39, 0x008e6588, 0x40, TYPE_AHDRMSG, 0 },
	{ 39, 0x008e6660, 0x30, TYPE_LOCREQ, 0 },
};

struct note {
	size_t written;			/* of note_blocks */
	int64_t clock_ms;		/* since NOTE_BEGAN_MS, when begun */
	int64_t begun_mono_ms;
	bool stopped;			/* the clock stands */
};

static void
write_block(struct keeper *k, const struct note_block *b)
{
	struct blklist_info requester = { .node = b->requester };
	struct rec rec = { .w = {
		rec_w0(b->addr, REC_FLAGS(REC_ALLOC, 0), b->type),
		rec_w1(b->size, 0), 0, 0 } };
	uint8_t raw[REC_CLASSIC_SIZE];

	if (stream_classic_encode(&rec, NOTE_BEGAN_MS + b->at_s * 1000,
	    raw) == 0)
		keeper_take_classic(k, raw,
		    b->requester != 0 ? &requester : NULL);
}

static void
note_source(struct keeper *k, int64_t mono)
{
	struct note *n = k->source_arg;
	int64_t clock = n->clock_ms;

	if (!n->stopped)
		clock += mono - n->begun_mono_ms;
	while (n->written < BASE_NELEM(note_blocks) &&
	    note_blocks[n->written].at_s * 1000 <= clock)
		write_block(k, &note_blocks[n->written++]);
	k->now_ms = NOTE_BEGAN_MS + clock;
}

/* "39s", "39", "2m", "1500ms" to milliseconds. */
static int
parse_time(const char *text, int64_t *ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {
		{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 },
		{ "h", 3600000 },
	};
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno != 0 || n > 1000000)
		return -EINVAL;
	for (size_t i = 0; i < BASE_NELEM(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		*ms = (int64_t)n * units[i].ms;
		return 0;
	}
	return -EINVAL;
}

static int
note_start(struct node *node, struct keeper *k)
{
	struct note *n = calloc(1, sizeof *n);
	int r = 0;

	if (n == NULL)
		return -ENOMEM;
	k->source_arg = n;
	k->source = note_source;
	n->clock_ms = NOTE_SHOWN_S * 1000;
	n->begun_mono_ms = mono_ms(mono_now());
	if (node->opts.demo_at != NULL) {
		r = parse_time(node->opts.demo_at, &n->clock_ms);
		n->stopped = true;
	}
	node->number = NOTE_NODE;
	strcpy(node->name, "0590");
	return r;
}

static int
busy_start_plain(struct node *node, struct keeper *k)
{
	if (node->opts.demo_at != NULL)
		return -EINVAL;		/* its clock is its own */
	return busy_start(k, false);
}

static int
busy_start_flood(struct node *node, struct keeper *k)
{
	if (node->opts.demo_at != NULL)
		return -EINVAL;
	return busy_start(k, true);
}

static const struct demo {
	const char *name;
	const char *comm;
	bool classic;
	int (*start)(struct node *, struct keeper *);
} demos[] = {
	{ "note", "", true, note_start },
	{ "1", "demo-1", false, busy_start_plain },
	{ "flood", "demo-flood", false, busy_start_flood },
};

int
demo_start(struct node *node)
{
	const struct demo *d = NULL;
	const char *name = node->opts.demo_stream;
	struct keeper_opts o = { .max = node->opts.max };
	struct keeper *k;
	int r;

	for (size_t i = 0; i < BASE_NELEM(demos); i++)
		if (strcmp(demos[i].name, node->opts.demo) == 0)
			d = &demos[i];
	if (d == NULL)
		return -ENOENT;
	o.classic = d->classic;
	r = keeper_new(&k, node, &o, NULL);
	if (r < 0)
		return r;
	strcpy(k->comm, d->comm);
	r = d->start(node, k);
	if (r == 0)
		r = tree_join(k, name != NULL ? name : "ALLOCLOG");
	if (r < 0) {
		keeper_unref(k);
		return r;
	}
	/* Its first picture is there before the first page can ask. */
	keeper_pass(k, mono_ms(mono_now()));
	return 0;
}
