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
    (int)ALLOCP_FAILED == (int)REC_LEVEL_FAILED, "the same words of a record");

/* Which stream is read: of a remote request, a block of its own. */
struct own_what {
	uint32_t index;
	uint32_t questions;		/* so far; wraps */
	uint8_t epoch[WIRE_EPOCH];
};

struct own_request {
	uint32_t type;			/* TYPE_LOCREQ or TYPE_ACREQ */
	uint32_t pid;			/* of whoever is connected */
	uint64_t conn;
};

struct own_locreq {
	struct own_request request;
	int64_t asked_ms;		/* monotonic, the last question */
	struct own_what what;
};

/* Addresses are below 4 GiB. */
struct own_acreq {
	struct own_request request;
	uint32_t what, reply;		/* its INTPTRS and AHDRMSG */
	uint16_t from, friendly;
	uint8_t away;
	uint8_t rest[43];
};

struct own_ahdrmsg {
	int64_t asked_ms;
	uint8_t rest[72];
};

struct own_lastat {
	char name[4];			/* no NUL */
	uint32_t uses;			/* wraps */
	int64_t begun_ms;		/* monotonic */
};

_Static_assert(sizeof(struct own_locreq) == 0x30, "the note's LOCREQ");
_Static_assert(sizeof(struct own_acreq) == 0x48, "the note's ACREQ");
_Static_assert(sizeof(struct own_what) == 0x18, "the note's INTPTRS");
_Static_assert(sizeof(struct own_ahdrmsg) == 0x50, "the note's AHDRMSG");

/* Names have four characters, as aInfo of the note has room for. */
static const char app_names[OWN_APPS][5] = {
	[OWN_MEMB] = "MEMB",
	[OWN_SYMB] = "SYMB",
	[OWN_LIST] = "LIST",
};

/* --- records ------------------------------------------------------------ */

/* What this node's clocks on the wall show, without a zone. */
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
tick(struct node *node)
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
	struct self_watch *own = node->self_watch;
	struct keeper *k = node->own_stream;
	struct blklist_info info = { .node = own->requester };
	bool described = own->requester != 0 || own->name != NULL;
	uint8_t raw[REC_CLASSIC_SIZE];
	struct rec rec = { .w = {
		rec_w0(e->addr, REC_FLAGS(e->op, e->level), e->type),
		rec_w1(e->size, 0), 0, 0 } };

	if (k == NULL)
		return;
	if (own->name != NULL)
		snprintf(info.name, sizeof info.name, "%s", own->name);
	/* A clock before 1970, or after 2069, has no such record. */
	if (stream_classic_encode(&rec, k->source.now_ms, raw) < 0)
		k->numbers.bad++;
	else
		keeper_take_classic(k, raw, described && e->addr != 0 &&
		    e->op == ALLOCP_ALLOC ? &info : NULL);
}

static void *
make(struct node *node, size_t size, enum rec_type type)
{
	return AllocP(node->self_watch->memory, size, (uint8_t)type);
}

static void
unmake(struct node *node, void *block)
{
	FreeP(node->self_watch->memory, block);
}

/* --- requests ----------------------------------------------------------- */

static void *
at(uint32_t addr)
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

static struct own_what *
what_of(struct own_request *r)
{
	if (r->type == TYPE_LOCREQ)
		return &((struct own_locreq *)r)->what;
	return at(((struct own_acreq *)r)->what);
}

static int64_t *
asked_of(struct own_request *r)
{
	struct own_ahdrmsg *reply;

	if (r->type == TYPE_LOCREQ)
		return &((struct own_locreq *)r)->asked_ms;
	reply = at(((struct own_acreq *)r)->reply);
	return &reply->asked_ms;
}

static void
end(struct node *node, struct self_watch_page *p)
{
	struct own_request *r = p->request;

	p->request = NULL;
	TAILQ_REMOVE(&node->self_watch->pages, p, link);
	node->self_watch->requests--;
	if (r->type == TYPE_ACREQ) {
		struct own_acreq *ac = (struct own_acreq *)r;

		unmake(node, at(ac->reply));
		unmake(node, at(ac->what));
	}
	unmake(node, r);
}

/* All three, or none. */
static struct own_request *
make_remote(struct node *node, const struct self_watch_page *p)
{
	uint16_t friendly = friendly_get(&node->friendly, p->from);
	struct own_ahdrmsg *reply;
	struct own_acreq *ac;
	struct own_what *what;

	node->self_watch->requester = friendly;
	ac = make(node, sizeof *ac, TYPE_ACREQ);
	node->self_watch->requester = 0;
	if (ac == NULL)
		return NULL;
	what = make(node, sizeof *what, TYPE_INTPTRS);
	reply = what == NULL ? NULL : make(node, sizeof *reply, TYPE_AHDRMSG);
	if (reply == NULL) {
		unmake(node, what);
		unmake(node, ac);
		return NULL;
	}
	ac->what = address(what);
	ac->reply = address(reply);
	ac->from = p->from;
	ac->friendly = friendly;
	ac->away = p->away;
	return &ac->request;
}

static struct own_request *
make_local(struct node *node)
{
	struct own_locreq *loc = make(node, sizeof *loc, TYPE_LOCREQ);

	return loc == NULL ? NULL : &loc->request;
}

static void
begin(struct node *node, struct self_watch_page *p, int64_t now)
{
	bool remote = is_remote(node, p);
	struct own_request *r = remote ? make_remote(node, p) :
	    make_local(node);

	if (r == NULL) {
		p->again_ms = now + OWN_AGAIN_MS;
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
	struct own_what *what;

	tick(node);
	if (node->self_watch->memory == NULL)
		return;
	if (p->request != NULL && what_of(p->request)->index != k->index)
		end(node, p);
	if (p->request == NULL && now >= p->again_ms)
		begin(node, p, now);
	if (p->request == NULL)
		return;
	assert(p->request->conn == p->id);
	what = what_of(p->request);
	what->index = k->index;
	/* It may be another list of the same stream by now. */
	memcpy(what->epoch, node->dstrm.row[k->index].epoch, WIRE_EPOCH);
	what->questions++;
	*asked_of(p->request) = now;
}

void
self_watch_gone(struct node *node, struct self_watch_page *p)
{
	tick(node);
	if (p->request != NULL)
		end(node, p);
}

/* Memory that somebody else writes to is told where these blocks are shown. */
static void
tell_damage(struct node *node)
{
	uint64_t damaged = allocp_counts(node->self_watch->memory)->damaged;
	struct keeper *k = node->own_stream;

	if (k == NULL || damaged == node->self_watch->told)
		return;
	node->self_watch->told = damaged;
	snprintf(k->image.reason, sizeof k->image.reason,
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
	tick(node);
	for (p = TAILQ_FIRST(&node->self_watch->pages); p != NULL; p = next) {
		next = TAILQ_NEXT(p, link);
		if (now - *asked_of(p->request) < OWN_LAPSE_MS)
			continue;
		end(node, p);
		node->self_watch->lapsed++;
	}
	tell_damage(node);
}

/* --- local applications ------------------------------------------------- */

void
self_watch_app(struct node *node, enum self_watch_app which)
{
	struct self_watch *own = node->self_watch;
	struct own_lastat *app = own->app[which];

	if (own->memory == NULL)
		return;
	if (app == NULL) {
		tick(node);
		own->name = app_names[which];
		app = make(node, sizeof *app, TYPE_LASTAT);
		own->name = NULL;
		if (app == NULL)
			return;
		memcpy(app->name, app_names[which], sizeof app->name);
		app->begun_ms = mono_ms(mono_now());
		own->app[which] = app;
	}
	app->uses++;
}

int
self_watch_app_find(const struct node *node, const char *name, size_t len,
    uint32_t *index)
{
	for (uint32_t i = 0; i < OWN_APPS; i++) {
		const struct own_lastat *app = node->self_watch->app[i];

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
	if (index >= OWN_APPS || node->self_watch->app[index] == NULL)
		return NULL;
	return app_names[index];
}

/* --- beginning and end, and what is known ------------------------------- */

void
self_watch_init(struct node *node)
{
	struct self_watch *own = node->self_watch;
	int r;

	TAILQ_INIT(&own->pages);
	own->clock_ms = time_of_day() - mono_ms(mono_now());
	r = allocp_new(&own->memory, &(struct allocp_opts){
		.size = { OWN_REGION_1, OWN_REGION_2 },
		.told = on_event, .arg = node });
	if (r < 0)
		own->memory = NULL;
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
	/* Levels are the regions', and so is what belongs to a node. */
	k->levels = true;
	blklist_set_opaque(k->list, false);
	for (unsigned code = TYPE_LASTAT; code <= TYPE_DSTREAM; code++)
		k->types->by_code[code] = node->types.by_code[code];
	keeper_types_changed(k);
	if (node->self_watch->memory == NULL)
		snprintf(k->image.reason, sizeof k->image.reason,
		    "there was no memory "
		    "below 4 GiB: requests of pages are not logged");
	node->own_stream = k;
	tick(node);
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
	/* They lie where there was room. */
	if (out[0].base > out[1].base) {
		swap = out[0];
		out[0] = out[1];
		out[1] = swap;
	}
	return ALLOCP_REGIONS;
}
