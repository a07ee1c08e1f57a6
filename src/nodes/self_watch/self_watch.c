#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../allocp/allocp.h"
#include "../keeper/node.h"
#include "../places/friendly.h"
#include "self_watch.h"

_Static_assert((int)ALLOCP_ALLOC == (int)REC_ALLOC &&
    (int)ALLOCP_FREE == (int)REC_FREE &&
    (int)ALLOCP_FAILED == (int)REC_LEVEL_FAILED, "the same values");

/* The stream that is read: of a remote request, in a block of its own. */
struct self_stream {
	uint32_t index;
	uint32_t questions;		/* so far; wraps */
	uint8_t epoch[WIRE_EPOCH];
};

struct self_request {
	uint32_t type;			/* TYPE_LOCREQ or TYPE_ACREQ */
	uint32_t pid;			/* of the page */
	uint64_t conn;
};

struct self_locreq {
	struct self_request request;
	int64_t asked_ms;		/* monotonic, the last question */
	struct self_stream stream;
};

/* Addresses are below 4 GiB. */
struct self_acreq {
	struct self_request request;
	uint32_t stream, reply;		/* addresses of its INTPTRS and AHDRMSG */
	uint16_t from, friendly;
	uint8_t away;
	uint8_t rest[43];
};

struct self_ahdrmsg {
	int64_t asked_ms;
	uint8_t rest[72];
};

struct self_lastat {
	char name[4];			/* no NUL */
	uint32_t uses;			/* wraps */
	int64_t begun_ms;		/* monotonic */
};

_Static_assert(sizeof(struct self_locreq) == 0x30, "the note's LOCREQ");
_Static_assert(sizeof(struct self_acreq) == 0x48, "the note's ACREQ");
_Static_assert(sizeof(struct self_stream) == 0x18, "the note's INTPTRS");
_Static_assert(sizeof(struct self_ahdrmsg) == 0x50, "the note's AHDRMSG");

/* Names have four characters, as aInfo of the note has room for. */
static const char app_names[SELF_APPS][5] = {
	[SELF_MEMB] = "MEMB",
	[SELF_SYMB] = "SYMB",
	[SELF_LIST] = "LIST",
};

/* Local time, as if it were UTC. */
static int64_t
time_of_day(void)
{
	int64_t wall = base_wall_ms();
	time_t s = (time_t)(wall / 1000);
	struct tm tm;

	if (localtime_r(&s, &tm) == NULL)
		return wall;
	return (int64_t)timegm(&tm) * 1000 + wall % 1000;
}

static void
set_clock(struct node *node)
{
	struct keeper *k = node->own_stream;

	if (k != NULL)
		k->source.now_ms =
		    mono_ms(mono_now()) + node->self_watch->clock_ms;
}

static void
on_event(void *arg, const struct allocp_event *e)
{
	struct node *node = arg;
	struct self_watch *self = node->self_watch;
	struct keeper *k = node->own_stream;
	struct blklist_info info = { .node = self->requester };
	bool described = self->requester != 0 || self->name != NULL;
	uint8_t raw[REC_CLASSIC_SIZE];
	struct rec rec = { .w = {
		rec_w0(e->addr, REC_FLAGS(e->op, e->level), e->type),
		rec_w1(e->size, 0), 0, 0 } };

	if (k == NULL)
		return;
	if (self->name != NULL)
		snprintf(info.name, sizeof info.name, "%s", self->name);
	if (stream_classic_encode(&rec, k->source.now_ms, raw) < 0)
		k->numbers.bad++;
	else
		keeper_take_classic(k, raw, described && e->addr != 0 &&
		    e->op == ALLOCP_ALLOC ? &info : NULL);
}

static void *
alloc_block(struct node *node, size_t size, enum rec_type type)
{
	return AllocP(node->self_watch->memory, size, (uint8_t)type);
}

static void
free_block(struct node *node, void *block)
{
	FreeP(node->self_watch->memory, block);
}

static void *
pointer(uint32_t addr)
{
	return (void *)(uintptr_t)addr;
}

static uint32_t
address(const void *block)
{
	return (uint32_t)(uintptr_t)block;
}

static bool
is_remote(const struct node *node, const struct self_watch_page *p)
{
	return p->away || (p->from != 0 && p->from != node->number);
}

static struct self_stream *
stream_of(struct self_request *r)
{
	if (r->type == TYPE_LOCREQ)
		return &((struct self_locreq *)r)->stream;
	return pointer(((struct self_acreq *)r)->stream);
}

static int64_t *
asked_of(struct self_request *r)
{
	struct self_ahdrmsg *reply;

	if (r->type == TYPE_LOCREQ)
		return &((struct self_locreq *)r)->asked_ms;
	reply = pointer(((struct self_acreq *)r)->reply);
	return &reply->asked_ms;
}

static void
end_request(struct node *node, struct self_watch_page *p)
{
	struct self_request *r = p->request;

	p->request = NULL;
	TAILQ_REMOVE(&node->self_watch->pages, p, link);
	node->self_watch->requests--;
	if (r->type == TYPE_ACREQ) {
		struct self_acreq *ac = (struct self_acreq *)r;

		free_block(node, pointer(ac->reply));
		free_block(node, pointer(ac->stream));
	}
	free_block(node, r);
}

static struct self_request *
make_remote(struct node *node, const struct self_watch_page *p)
{
	uint16_t friendly = friendly_get(&node->friendly, p->from);
	struct self_ahdrmsg *reply;
	struct self_acreq *ac;
	struct self_stream *stream;

	node->self_watch->requester = friendly;
	ac = alloc_block(node, sizeof *ac, TYPE_ACREQ);
	node->self_watch->requester = 0;
	if (ac == NULL)
		return NULL;
	stream = alloc_block(node, sizeof *stream, TYPE_INTPTRS);
	reply = stream == NULL ? NULL :
	    alloc_block(node, sizeof *reply, TYPE_AHDRMSG);
	if (reply == NULL) {
		free_block(node, stream);
		free_block(node, ac);
		return NULL;
	}
	ac->stream = address(stream);
	ac->reply = address(reply);
	ac->from = p->from;
	ac->friendly = friendly;
	ac->away = p->away;
	return &ac->request;
}

static struct self_request *
make_local(struct node *node)
{
	struct self_locreq *loc = alloc_block(node, sizeof *loc, TYPE_LOCREQ);

	return loc == NULL ? NULL : &loc->request;
}

static void
begin_request(struct node *node, struct self_watch_page *p, int64_t now)
{
	bool remote = is_remote(node, p);
	struct self_request *r = remote ? make_remote(node, p) :
	    make_local(node);

	if (r == NULL) {
		p->retry_ms = now + SELF_RETRY_MS;
		return;
	}
	r->type = remote ? TYPE_ACREQ : TYPE_LOCREQ;
	r->pid = (uint32_t)p->pid;
	r->conn = p->id;
	p->request = r;
	TAILQ_INSERT_TAIL(&node->self_watch->pages, p, link);
	node->self_watch->requests++;
}

void
self_watch_asked(
    struct node *node, struct self_watch_page *p, const struct keeper *k)
{
	int64_t now = mono_ms(mono_now());
	struct self_stream *stream;

	set_clock(node);
	if (node->self_watch->memory == NULL)
		return;
	if (p->request != NULL && stream_of(p->request)->index != k->index)
		end_request(node, p);
	if (p->request == NULL && now >= p->retry_ms)
		begin_request(node, p, now);
	if (p->request == NULL)
		return;
	assert(p->request->conn == p->id);
	stream = stream_of(p->request);
	stream->index = k->index;
	memcpy(stream->epoch, node->dstrm.row[k->index].epoch, WIRE_EPOCH);
	stream->questions++;
	*asked_of(p->request) = now;
}

void
self_watch_gone(struct node *node, struct self_watch_page *p)
{
	set_clock(node);
	if (p->request != NULL)
		end_request(node, p);
}

/* Overwritten headers of blocks are reported with the stream. */
static void
report_damage(struct node *node)
{
	uint64_t damaged = allocp_counts(node->self_watch->memory)->damaged;
	struct keeper *k = node->own_stream;

	if (k == NULL || damaged == node->self_watch->damaged)
		return;
	node->self_watch->damaged = damaged;
	snprintf(k->life.reason, sizeof k->life.reason,
	    "headers of its blocks that were "
	    "overwritten: %llu",
	    (unsigned long long)damaged);
}

void
self_watch_second(struct node *node, int64_t now)
{
	struct self_watch_page *p, *next;

	if (node->self_watch->memory == NULL)
		return;
	set_clock(node);
	for (p = TAILQ_FIRST(&node->self_watch->pages); p != NULL; p = next) {
		next = TAILQ_NEXT(p, link);
		if (now - *asked_of(p->request) < SELF_LAPSE_MS)
			continue;
		end_request(node, p);
		node->self_watch->lapsed++;
	}
	report_damage(node);
}

void
self_watch_app(struct node *node, enum self_watch_app which)
{
	struct self_watch *self = node->self_watch;
	struct self_lastat *app = self->app[which];

	if (self->memory == NULL)
		return;
	if (app == NULL) {
		set_clock(node);
		self->name = app_names[which];
		app = alloc_block(node, sizeof *app, TYPE_LASTAT);
		self->name = NULL;
		if (app == NULL)
			return;
		memcpy(app->name, app_names[which], sizeof app->name);
		app->begun_ms = mono_ms(mono_now());
		self->app[which] = app;
	}
	app->uses++;
}

int
self_watch_app_find(const struct node *node, const char *name, size_t len,
    uint32_t *index)
{
	for (uint32_t i = 0; i < SELF_APPS; i++) {
		const struct self_lastat *app = node->self_watch->app[i];

		if (app == NULL || len != sizeof app->name ||
		    memcmp(app->name, name, len) != 0)
			continue;
		*index = i;
		return 0;
	}
	return -ENOENT;
}

const char *
self_watch_app_name(const struct node *node, uint32_t index)
{
	if (index >= SELF_APPS || node->self_watch->app[index] == NULL)
		return NULL;
	return app_names[index];
}

void
self_watch_init(struct node *node)
{
	struct self_watch *self = node->self_watch;
	int r;

	TAILQ_INIT(&self->pages);
	self->clock_ms = time_of_day() - mono_ms(mono_now());
	r = allocp_new(&self->memory, &(struct allocp_opts){
		.size = { SELF_REGION_1, SELF_REGION_2 },
		.told = on_event, .arg = node });
	if (r < 0)
		self->memory = NULL;
}

void
self_watch_fini(struct node *node)
{
	assert(node->self_watch->requests == 0);
	allocp_free(node->self_watch->memory);
	node->self_watch->memory = NULL;
	memset(node->self_watch->app, 0, sizeof node->self_watch->app);
}

void
self_watch_join(struct node *node, struct keeper *k)
{
	k->format.levels = true;
	blklist_set_opaque(k->list, false);
	for (unsigned code = TYPE_LASTAT; code <= TYPE_DSTREAM; code++)
		k->declared.types->by_code[code] = node->types.by_code[code];
	keeper_types_changed(k);
	if (node->self_watch->memory == NULL)
		snprintf(k->life.reason, sizeof k->life.reason,
		    "there was no memory "
		    "below 4 GiB: requests of pages are not logged");
	node->own_stream = k;
	set_clock(node);
}

void
self_watch_stat(const struct node *node, uint64_t n[WIRE_STATS_COUNT])
{
	n[WIRE_N_REQUESTS] = node->self_watch->requests;
	n[WIRE_N_REQUESTS_LAPSED] = node->self_watch->lapsed;
}

static void
region_of(const struct allocp *memory, unsigned no, struct wire_region *out)
{
	uint32_t base;
	size_t size;

	allocp_region(memory, no, &base, &size);
	*out = (struct wire_region){ .base = base, .size = size,
		.head = ALLOCP_HEAD, .align = ALLOCP_ALIGN };
	snprintf(out->name, sizeof out->name, "region %u", no);
}

size_t
self_watch_regions(const struct node *node, struct wire_region *out, size_t max)
{
	struct wire_region swap;

	if (node->self_watch->memory == NULL || max < ALLOCP_REGIONS)
		return 0;
	for (unsigned i = 0; i < ALLOCP_REGIONS; i++)
		region_of(node->self_watch->memory, i + 1, &out[i]);
	if (out[0].base > out[1].base) {
		swap = out[0];
		out[0] = out[1];
		out[1] = swap;
	}
	return ALLOCP_REGIONS;
}
