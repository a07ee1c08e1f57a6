/*
 * Threads' names and frames of sites are in memory: the loop answers.  Words
 * of frames are read from files, by a reader for which a worker waits.  After
 * LOOK_MS it answers with what it has; the page asks for the rest.
 *
 * Threads' names and the frames of sites are in memory: the loop answers.  The
 * words of a frame are read from files, by a reader that may take its time: a
 * worker waits for it.  After LOOK_MS the worker answers with what it has; the
 * page asks for the rest, and other pages have their turn first.
 *
 * The user of a target can make its files slow, or make the reader crash.  So
 * each user's targets have a reader of their own, with its own cache, which
 * serves one FRAME at a time.  LOOKUP_READERS work at once, which leaves one
 * worker thread free.  A further user gets the reader that has been idle for
 * longest, or waits for one.  The users who ask take turns.
 *
 * A frame of a stack names its module, which the keeper's sites know for ever.
 * A plain return address is looked up in the target's module table, under its
 * lock.  If no known module covers an address, the worker reads the table anew,
 * for the target may have loaded something since.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../symbol/symbol.h"
#include "../keeper/node.h"
#include "serve.h"

#define READER "pagek-symbols"
#define LOOK_MS 200
#define LOOK_FRAMES 8		/* frames of one question to the reader */
#define BUSY_MS 250		/* after which a page may ask again */

_Static_assert((int)SYMBOL_PENDING == (int)WIRE_K_PENDING &&
    (int)SYMBOL_LINE == (int)WIRE_K_LINE &&
    (int)SYMBOL_NO_LINE == (int)WIRE_K_NO_LINE &&
    (int)SYMBOL_NO_SYMBOL == (int)WIRE_K_NO_SYMBOL &&
    (int)SYMBOL_NO_MODULE == (int)WIRE_K_NO_MODULE &&
    (int)SYMBOL_NO_FILE == (int)WIRE_K_NO_FILE &&
    (int)SYMBOL_OTHER_FILE == (int)WIRE_K_OTHER_FILE &&
    (int)SYMBOL_DAMAGED == (int)WIRE_K_DAMAGED &&
    (int)SYMBOL_NO_READER == (int)WIRE_K_NO_READER &&
    SYMBOL_INLINES_MAX <= WIRE_INLINES_MAX &&
    (int)SYMBOL_TYPE_TEMPLATE == (int)WIRE_TYPE_TEMPLATE &&
    (int)SYMBOL_TYPE_CALL == (int)WIRE_TYPE_CALL &&
    (int)SYMBOL_TYPE_SYMBOL == (int)WIRE_TYPE_SYMBOL &&
    (int)SYMBOL_TYPE_NEW == (int)WIRE_TYPE_NEW &&
    SYMBOL_NAME_MAX <= WIRE_TEXT_MAX,
    "the enums of reader and wire agree");

/* Words, and their types; both have room in one answer. */
struct packed {
	uint8_t words[WIRE_PACKED_MAX];
	uint8_t types[WIRE_TOLD_MAX];
	size_t len, types_len;
};

struct look {
	uv_work_t work;
	TAILQ_ENTRY(look) link;
	struct node *node;
	struct keeper *keeper;		/* a reference */
	struct lookup_reader *reader;	/* while a worker has this */
	struct symbols *retired;	/* of the reader's former user, to be freed; NULL none */
	uint64_t conn;			/* the connection that asked */
	uid_t uid;			/* ... and its user */
	uint32_t request;
	pid_t pid;			/* of the process while it lives, else 0 */
	struct wire_frame frame;
	struct symbol_place place[WIRE_SYMS_MAX];
	char *path[WIRE_SYMS_MAX];	/* of the place; NULL none */
	bool unsure[WIRE_SYMS_MAX];	/* several modules have lain there */
	uint32_t n;			/* frames answered so far */
	struct packed packed;
	struct symbols_fetch fetch;
	bool fetching;
};

void
lookup_init(struct node *node)
{
	struct lookup *lk = &node->serve->lookup;

	TAILQ_INIT(&lk->queue);
	if (nodes_program(READER, lk->program, sizeof lk->program) < 0)
		lk->program[0] = '\0';
}

static struct symbols *
make_symbols(const struct lookup *lk)
{
	struct symbols *symbols;
	struct symbols_opts opts = {
		.reader = lk->program,
		.path = secure_getenv("PAGEK_SYMBOL_PATH"),
		.fetch = true,
	};

	return lk->program[0] == '\0' || symbols_new(&symbols, &opts) < 0 ?
	    NULL : symbols;
}

/* The user's reader if it is idle, or an idle one to take over; NULL: none. */
static struct lookup_reader *
idle_reader(struct lookup *lk, uid_t owner)
{
	struct lookup_reader *best = NULL;

	for (size_t i = 0; i < LOOKUP_READERS; i++) {
		struct lookup_reader *r = &lk->reader[i];

		if (r->used != 0 && r->owner == owner)
			return r->working ? NULL : r;
		if (!r->working && (best == NULL || r->used < best->used))
			best = r;
	}
	return best;
}

static void
take_reader(struct lookup *lk, struct lookup_reader *r, struct look *l)
{
	uid_t owner = l->keeper->image.uid;

	if (r->used != 0 && r->owner != owner) {
		l->retired = r->symbols;
		r->symbols = NULL;
	}
	if (r->symbols == NULL)
		r->symbols = make_symbols(lk);
	r->owner = owner;
	r->used = ++lk->looks;
	r->working = true;
	l->reader = r;
}

static void
look_free(struct look *l)
{
	for (size_t i = 0; i < l->frame.n; i++)
		free(l->path[i]);
	keeper_unref(l->keeper);
	free(l);
}

void
lookup_close(struct node *node)
{
	struct lookup *lk = &node->serve->lookup;
	struct look *l;

	lk->stop = true;
	for (size_t i = 0; i < LOOKUP_READERS; i++)
		if (lk->reader[i].symbols != NULL)
			symbols_stop(lk->reader[i].symbols);
	while ((l = TAILQ_FIRST(&lk->queue)) != NULL) {
		TAILQ_REMOVE(&lk->queue, l, link);
		look_free(l);
	}
}

void
lookup_fini(struct node *node)
{
	struct lookup *lk = &node->serve->lookup;

	for (size_t i = 0; i < LOOKUP_READERS; i++)
		if (lk->reader[i].symbols != NULL)
			symbols_free(lk->reader[i].symbols);
}

/* Have several modules lain there, so that the present one may not be meant? */
static bool
was_shared(const struct stream_sites *sites, uint64_t pc)
{
	struct stream_module m;
	unsigned n = 0;

	for (unsigned no = 1; n < 2 && no <= stream_sites_modules(sites); no++)
		n += stream_sites_get_module(sites, no, &m) && pc > m.start &&
		    pc <= m.end;
	return n == 2;
}

/* Places a frame whose module is known by number.  -ENOMEM. */
static int
place_by_site(struct look *l, size_t i)
{
	uint64_t frame = l->frame.frame[i];
	struct symbol_place *p = &l->place[i];
	const struct keeper *k = l->keeper;
	struct stream_module m;

	if (k->sites == NULL)
		return 0;
	l->unsure[i] = frame_module(frame) == 0 &&
	    was_shared(k->sites, frame_pc(frame));
	if (frame_module(frame) == 0 ||
	    !stream_sites_get_module(k->sites, frame_module(frame), &m) ||
	    m.path[0] == '\0' || m.cut)
		return 0;
	l->path[i] = strdup(m.path);
	if (l->path[i] == NULL)
		return -ENOMEM;
	p->path = l->path[i];
	p->pid = l->pid;
	p->address = (frame_pc(frame) - m.bias) & REC_ADDR_MASK;
	p->mapped_ns = m.seen_ns;
	if (m.build_id_len <= sizeof p->build_id) {
		p->build_id_len = m.build_id_len;
		memcpy(p->build_id, m.build_id, m.build_id_len);
	}
	return 0;
}

static int64_t
earlier_of(int64_t a, int64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Without a build id, inode and time tell a file that has changed since. */
static void
place_by_table(struct look *l, const struct symbol_modules *modules, size_t i)
{
	struct symbol_place *p = &l->place[i], t = { .path = NULL };

	if (l->unsure[i] || (p->path != NULL && p->build_id_len > 0))
		return;
	symbol_modules_place(modules, frame_pc(l->frame.frame[i]), &t);
	if (t.path == NULL)
		return;
	if (p->path == NULL) {
		l->path[i] = strdup(t.path);
		*p = t;
		p->path = l->path[i];
		p->pid = l->pid;
	} else if (strcmp(p->path, t.path) == 0) {
		p->inode = t.inode;
		p->mapped_ns = earlier_of(p->mapped_ns, t.mapped_ns);
	}
}

static bool
table_covers(const struct look *l, const struct symbol_modules *modules)
{
	for (size_t i = 0; i < l->frame.n; i++)
		if (l->place[i].build_id_len == 0 && !symbol_modules_covers(
		    modules, frame_pc(l->frame.frame[i])))
			return false;
	return true;
}

static void
place_by_tables(struct look *l)
{
	struct keeper *k = l->keeper;

	pthread_mutex_lock(&k->modules.lock);
	if (k->modules.table == NULL &&
	    symbol_modules_new(&k->modules.table) < 0)
		k->modules.table = NULL;
	if (k->modules.table != NULL) {
		if (l->pid != 0 && !table_covers(l, k->modules.table))
			symbol_modules_read(k->modules.table, l->pid);
		for (size_t i = 0; i < l->frame.n; i++)
			place_by_table(l, k->modules.table, i);
	}
	pthread_mutex_unlock(&k->modules.lock);
}

/* Cuts the beginning of a path that is too long for the wire. */
static struct wire_text
path_text(const char *path)
{
	size_t len, cut;

	if (path == NULL)
		return (struct wire_text){ NULL, 0 };
	len = strlen(path);
	cut = len > WIRE_TEXT_MAX ? len - WIRE_TEXT_MAX : 0;
	while (cut > 0 && ((unsigned char)path[cut] & 0xc0) == 0x80)
		cut++;
	return (struct wire_text){ path + cut, len - cut };
}

/* False: there is no room. */
static bool
pack_words(struct packed *p, uint32_t frame, const struct wire_words *w)
{
	size_t types = p->types_len, left;

	if (!wire_told_put(p->types, sizeof p->types, &types, frame, w))
		return false;
	left = sizeof p->words - types;
	if (p->len > left || !wire_framed_put(p->words, left, &p->len, w))
		return false;
	p->types_len = types;
	return true;
}

static bool
put_words(struct look *l, size_t i, const struct symbol_words *in)
{
	const struct symbol_place *p = &l->place[i];
	struct wire_words w = {
		.frame = l->frame.frame[i],
		.known = in->known,
		.fetching = in->fetching,
		.offset = in->address != 0 ? in->address : p->address,
		.module = path_text(p->path),
		.n = in->n,
	};

	for (size_t j = 0; j < in->n; j++)
		w.line[j] = (struct wire_inline){
			.function = wire_text(in->line[j].function),
			.file = path_text(in->line[j].file),
			.line = in->line[j].line };
	if (in->type != NULL)
		w.type = wire_text(in->type);
	w.type_from = in->type_from;
	return pack_words(&l->packed, (uint32_t)i, &w);
}

static bool
is_file(const struct symbol_place *p)
{
	return p->path != NULL && strcmp(p->path, "[anon]") != 0;
}

/* The words of n places of one file.  There may be no file, or no reader. */
static void
read_words(const struct look *l, size_t at, size_t n, struct symbol_words *out)
{
	struct symbols *symbols = l->reader->symbols;
	const struct symbol_place *p = &l->place[at];

	if (symbols != NULL && is_file(p)) {
		symbols_look(symbols, p, n, out);
		return;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = (struct symbol_words){ .known = is_file(p) ?
			SYMBOL_NO_READER : SYMBOL_NO_MODULE };
}

static size_t
count_of_file(const struct look *l)
{
	const struct symbol_place *p = &l->place[l->n];
	size_t n = 1, max = l->frame.n - l->n;

	while (n < max && n < LOOK_FRAMES && is_file(&p[n]) == is_file(p) &&
	    (!is_file(p) || strcmp(p[n].path, p->path) == 0))
		n++;
	return n;
}

static bool
add_words(struct look *l)
{
	struct symbol_words words[LOOK_FRAMES];
	size_t at = l->n, n = count_of_file(l);
	bool room = true;

	read_words(l, at, n, words);
	for (size_t i = 0; i < n; i++) {
		room = room && put_words(l, at + i, &words[i]);
		l->n += room;
		symbol_words_fini(&words[i]);
	}
	return room;
}

static void
look_work(uv_work_t *work)
{
	struct look *l = work->data;
	struct lookup *lk = &l->node->serve->lookup;
	struct mono begun = mono_now();

	/* In a worker, because the end of its process may take seconds. */
	if (l->retired != NULL)
		symbols_free(l->retired);
	place_by_tables(l);
	while (l->n < l->frame.n && !lk->stop && add_words(l) &&
	    mono_ms_since(begun) < LOOK_MS)
		;
	if (l->reader->symbols != NULL)
		l->fetching = symbols_fetching(l->reader->symbols, &l->fetch);
}

static void
send_framed(struct conn *c, const struct look *l)
{
	struct wire_msg reply = { .type = WIRE_FRAMED, .id = l->request };
	struct wire_framed *f = &reply.framed;

	f->index = l->frame.index;
	f->n = l->n;
	f->words = (struct wire_bytes){ l->packed.words, l->packed.len };
	f->types = (struct wire_bytes){ l->packed.types,
		l->packed.types_len };
	if (l->fetching) {
		f->fetched_kb = l->fetch.kb;
		f->fetch_kb = l->fetch.of_kb;
		f->fetch = path_text(l->fetch.module);
	}
	conn_reply(c, &reply);
}

static void start_looks(struct node *);

static void
look_done(uv_work_t *work, int status)
{
	struct look *l = work->data;
	struct node *node = l->node;
	struct conn *c = serve_find(node, l->conn);

	(void)status;
	if (c != NULL) {
		c->looking = false;
		send_framed(c, l);
	}
	l->reader->working = false;
	look_free(l);
	start_looks(node);
}

/*
 * The first request, of the user whose turn it is, that has an idle reader; or
 * NULL.
 */
static struct look *
next_look(struct lookup *lk)
{
	struct look *l, *next = NULL;

	TAILQ_FOREACH(l, &lk->queue, link)
		if (idle_reader(lk, l->keeper->image.uid) != NULL &&
		    (next == NULL || access_last_turn(&lk->turns, l->uid) <
		    access_last_turn(&lk->turns, next->uid)))
			next = l;
	return next;
}

static void
start_looks(struct node *node)
{
	struct lookup *lk = &node->serve->lookup;
	struct look *l;

	while ((l = next_look(lk)) != NULL) {
		TAILQ_REMOVE(&lk->queue, l, link);
		access_take_turn(&lk->turns, l->uid);
		take_reader(lk, idle_reader(lk, l->keeper->image.uid), l);
		self_watch_app(node, SELF_SYMB);
		uv_queue_work(node->loop, &l->work, look_work, look_done);
	}
}

static void
send_source_words(struct conn *c, const struct wire_msg *m,
    const struct keeper *k)
{
	static struct packed packed;
	struct wire_msg reply = { .type = WIRE_FRAMED, .id = m->id };
	struct wire_words w;
	size_t i;

	packed.len = packed.types_len = 0;
	for (i = 0; i < m->frame.n; i++) {
		w = (struct wire_words){ .known = WIRE_K_NO_MODULE };
		k->source.words(m->frame.frame[i], &w);
		w.frame = m->frame.frame[i];
		if (!pack_words(&packed, (uint32_t)i, &w))
			break;
	}
	reply.framed.index = m->frame.index;
	reply.framed.n = (uint32_t)i;
	reply.framed.words = (struct wire_bytes){ packed.words, packed.len };
	reply.framed.types = (struct wire_bytes){ packed.types,
		packed.types_len };
	conn_reply(c, &reply);
}

static int
queue_look(struct conn *c, const struct wire_msg *m, struct keeper *k)
{
	struct look *l = malloc(sizeof *l);
	int r = 0;

	if (l == NULL)
		return -ENOMEM;
	l->work.data = l;
	l->node = c->node;
	l->keeper = k;
	keeper_ref(k);
	l->reader = NULL;
	l->retired = NULL;
	l->conn = c->page.id;
	l->uid = c->peer.uid;
	l->request = m->id;
	l->pid = keeper_is_live(k) ? k->image.pid : 0;
	l->frame = m->frame;
	memset(l->place, 0, sizeof l->place);
	memset(l->path, 0, sizeof l->path);
	memset(l->unsure, 0, sizeof l->unsure);
	l->n = 0;
	l->packed.len = l->packed.types_len = 0;
	l->fetching = false;
	for (size_t i = 0; i < l->frame.n && r == 0; i++)
		r = place_by_site(l, i);
	if (r < 0) {
		look_free(l);
		return r;
	}
	c->looking = true;
	TAILQ_INSERT_TAIL(&c->node->serve->lookup.queue, l, link);
	start_looks(c->node);
	return 0;
}

void
lookup_frames(struct conn *c, const struct wire_msg *m, struct keeper *k)
{
	struct wire_msg busy = { .type = WIRE_ERR, .id = m->id, .err = {
		.code = WIRE_E_BUSY, .retry_ms = BUSY_MS,
		.text = wire_text("one question about frames at a time") } };

	if (k->source.words != NULL)
		send_source_words(c, m, k);
	else if (c->looking)
		conn_reply(c, &busy);
	else if (queue_look(c, m, k) < 0)
		conn_error(c, m->id, WIRE_E_INTERNAL, "out of memory");
}

void
lookup_sites(struct conn *c, const struct wire_msg *m, struct keeper *k)
{
	static uint8_t packed[WIRE_PACKED_MAX];
	struct wire_msg reply = { .type = WIRE_SITED, .id = m->id };
	size_t i, len = 0;

	for (i = 0; i < m->site.n; i++) {
		struct wire_stack st = { .site = m->site.site[i] };
		struct stream_site site;

		if (k->sites != NULL &&
		    stream_sites_get(k->sites, st.site, &site)) {
			st.depth = (uint8_t)site.depth;
			st.end = (uint8_t)site.end;
			memcpy(st.frame, site.frame,
			    site.depth * sizeof st.frame[0]);
		}
		if (!wire_sited_put(packed, sizeof packed, &len, &st))
			break;
	}
	reply.sited.index = m->site.index;
	reply.sited.n = (uint32_t)i;
	reply.sited.sites = (struct wire_bytes){ packed, len };
	conn_reply(c, &reply);
}

void
lookup_threads(struct conn *c, const struct wire_msg *m, struct keeper *k)
{
	static char name[WIRE_SYMS_MAX][WIRE_TEXT_MAX + 1];
	struct wire_msg reply = { .type = WIRE_SYMS, .id = m->id };

	reply.syms.index = m->sym.index;
	reply.syms.kind = m->sym.kind;
	reply.syms.n = m->sym.n;
	for (size_t i = 0; i < m->sym.n; i++) {
		name[i][0] = '\0';
		if (m->sym.addr[i] <= KEEPER_THREADS_MAX)
			keeper_thread_name(k, (unsigned)m->sym.addr[i],
			    name[i], sizeof name[i]);
		reply.syms.name[i] = wire_text(name[i]);
	}
	conn_reply(c, &reply);
}
