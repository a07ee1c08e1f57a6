#include "client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TIMEOUT_MS 20000
/* A hostile target may have a thousand files that kill a reader. */
#define STARTS_MAX 12
#define STARTS_MS 60000

struct symbols {
	char *reader, *path;
	unsigned timeout_ms;
	struct fetches *fetches;
	_Atomic bool stopped;
	int stop_fd;		/* readable once stopped */

	pthread_mutex_t lock;	/* all below */
	struct child child;
	struct mono started[STARTS_MAX];	/* the last starts, round and round */
	unsigned starts;
	struct symcache *cache;
	struct packet_out out;
	struct packet_request request;
	struct packet_answer answer;
};

int
symbols_new(struct symbols **out, const struct symbols_opts *o)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int error = -ENOMEM;

	if (s == NULL)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	s->child.stop = s->stop_fd;
	s->timeout_ms = o->timeout_ms != 0 ? o->timeout_ms : TIMEOUT_MS;
	s->reader = strdup(o->reader != NULL ? o->reader : "");
	s->path = strdup(o->path != NULL ? o->path : "");
	if (s->stop_fd < 0 || s->reader == NULL || s->path == NULL ||
	    (error = symcache_new(&s->cache)) < 0)
		goto fail;
	if (o->fetch && (error = fetches_new(&s->fetches, s->reader)) < 0)
		goto fail;
	*out = s;
	return 0;
fail:
	symbols_free(s);
	return error;
}

void
symbols_free(struct symbols *s)
{
	if (s == NULL)
		return;
	fetches_free(s->fetches);
	symchild_end(&s->child);
	symcache_free(s->cache);
	packet_out_fini(&s->out);
	pthread_mutex_destroy(&s->lock);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	free(s->reader);
	free(s->path);
	free(s);
}

void
symbols_stop(struct symbols *s)
{
	s->stopped = true;
	(void)eventfd_write(s->stop_fd, 1);
	fetches_stop(s->fetches);
}

bool
symbols_fetching(struct symbols *s, struct symbols_fetch *out)
{
	return fetches_progress(s->fetches, out);
}

/* -EAGAIN: started too often of late, or stopped. */
static int
start_reader(struct symbols *s)
{
	struct mono *oldest = &s->started[s->starts % STARTS_MAX];
	char seconds[16], word[] = "serve";
	char *argv[] = { s->reader, word, seconds, s->path, NULL };
	int error;

	if (s->stopped)
		return -EAGAIN;
	if (s->child.pid != 0)
		return 0;
	if (s->starts >= STARTS_MAX && mono_ms_since(*oldest) < STARTS_MS)
		return -EAGAIN;
	snprintf(seconds, sizeof(seconds), "%u", s->timeout_ms / 1000 + 2);
	if ((error = symchild_start(&s->child, argv, true)) < 0)
		return error == -EAGAIN ? -ENOMEM : error;
	*oldest = mono_now();
	s->starts++;
	return 0;
}

/* -ETIMEDOUT, or an error that is the reader's fault. */
static int
exchange_packets(struct symbols *s)
{
	struct mono deadline = symchild_deadline(s->timeout_ms);
	uint8_t *bytes;
	uint32_t len;
	int error;

	error = symchild_write(&s->child, s->out.byte, s->out.len, deadline);
	if (error == 0)
		error = symchild_read(&s->child, (uint8_t *)&len, sizeof(len),
		    deadline);
	if (error < 0)
		return error;
	if (len > PACKET_MAX)
		return -EBADMSG;
	if ((bytes = malloc(len)) == NULL)
		return -ENOMEM;
	error = symchild_read(&s->child, bytes, len, deadline);
	if (error == 0)
		error = packet_get_answer(bytes, len, &s->answer);
	free(bytes);
	if (error == 0 && s->answer.file == SYMBOL_LINE &&
	    s->answer.n != s->request.n) {
		packet_answer_fini(&s->answer);
		error = -EBADMSG;
	}
	if (error == 0)
		s->child.answered++;
	return error;
}

/*
 * Asks again if a reader dies that had answered before: an earlier file may
 * have killed it.  SYMBOL_LINE with the answer, or why not.
 */
static enum symbol_known
ask_reader(struct symbols *s)
{
	for (;;) {
		bool fresh;
		int error;

		if ((error = start_reader(s)) < 0)
			return error == -EAGAIN || error == -ENOMEM ||
			    error == -EMFILE || error == -ENFILE ?
			    SYMBOL_PENDING : SYMBOL_NO_READER;
		fresh = s->child.answered == 0;
		if ((error = exchange_packets(s)) == 0)
			return SYMBOL_LINE;
		symchild_end(&s->child);
		if (error == -ENOMEM || error == -ECANCELED)
			return SYMBOL_PENDING;
		if (fresh || error == -ETIMEDOUT)
			return SYMBOL_DAMAGED;
	}
}

/* True while the debug file is being fetched; then words are forgotten. */
static bool
fetch_for(struct symbols *s, struct module_known *m,
    const struct symbol_place *p)
{
	char *path = NULL;

	if (s->fetches == NULL || !m->bare || m->fetched != NULL ||
	    p->path[0] != '/')
		return false;
	switch (fetches_want(s->fetches, m->build_id, m->build_id_len,
	    p->path, &path)) {
	case FETCH_GOING:
		return true;
	case FETCH_HERE:
		m->fetched = path;
		m->generation++;
		return false;
	default:
		return false;
	}
}

/* A missing file may have a debug file too. */
static bool
is_worth_fetching(const struct symbol_place *p, enum symbol_known file,
    bool bare)
{
	if (file == SYMBOL_NO_FILE || file == SYMBOL_OTHER_FILE)
		return p->build_id_len > 0 && !p->by_offset;
	return file == SYMBOL_LINE && bare;
}

static void
learn_module(struct symbols *s, uint32_t no, const struct symbol_place *p,
    enum symbol_known file)
{
	struct module_known *m = symcache_known(s->cache, no);
	const struct packet_answer *a = &s->answer;

	m->bare = is_worth_fetching(p, file, a->bare);
	if (m->build_id_len == 0 && file == SYMBOL_LINE) {
		m->build_id_len = a->build_id_len;
		memcpy(m->build_id, a->build_id, a->build_id_len);
	}
}

struct looking {
	struct symbols *s;
	const struct symbol_place *place;
	struct symbol_words *words;
	size_t n;
	uint32_t *module;	/* of each place; NONE: it has its words */
};

#define NONE UINT32_MAX

/* True when no file can say more about the place. */
static bool
is_answered(const struct symbol_place *p, struct symbol_words *w)
{
	*w = (struct symbol_words) { .address = p->address };
	if (p->path == NULL || p->path[0] == '\0' ||
	    (p->path[0] == '[' && strcmp(p->path, "[vdso]") != 0)) {
		w->known = SYMBOL_NO_MODULE;
		return true;
	}
	if (strlen(p->path) > PACKET_PATH_MAX ||
	    p->build_id_len > SYMBOL_BUILD_ID_MAX) {
		w->known = SYMBOL_NO_FILE;
		return true;
	}
	return false;
}

static void
look_in_cache(struct looking *l, size_t i)
{
	const struct symbol_place *p = &l->place[i];
	struct symbol_words *w = &l->words[i];
	struct module_known *m;
	uint32_t no;
	bool fetching;

	l->module[i] = NONE;
	if (is_answered(p, w) || symcache_module(l->s->cache, p, &no) < 0)
		return;
	m = symcache_known(l->s->cache, no);
	if (m->damaged) {
		w->known = SYMBOL_DAMAGED;
		return;
	}
	fetching = fetch_for(l->s, m, p);
	if (symcache_get(l->s->cache, no, p, w))
		w->fetching = fetching;
	else
		l->module[i] = no;
}

static unsigned
gather_places(struct looking *l, size_t i, size_t index[PACKET_ADDRESSES_MAX])
{
	const struct symbol_place *p = &l->place[i];
	struct packet_request *r = &l->s->request;

	*r = (struct packet_request) {
		.place = *p,
		.debug = symcache_known(l->s->cache, l->module[i])->fetched,
	};
	for (size_t k = i; k < l->n && r->n < PACKET_ADDRESSES_MAX; k++) {
		if (l->module[k] != l->module[i] ||
		    l->place[k].by_offset != p->by_offset)
			continue;
		index[r->n] = k;
		r->address[r->n++] = l->place[k].address;
	}
	return r->n;
}

static enum symbol_known
ask_file(struct looking *l, size_t i, size_t index[PACKET_ADDRESSES_MAX],
    unsigned *n)
{
	struct symbols *s = l->s;
	uint32_t no = l->module[i];
	enum symbol_known known;

	*n = gather_places(l, i, index);
	known = packet_put_request(&s->out, &s->request) < 0 ?
	    SYMBOL_PENDING : ask_reader(s);
	if (known == SYMBOL_DAMAGED)
		symcache_known(s->cache, no)->damaged = true;
	if (known == SYMBOL_LINE) {
		known = s->answer.file;
		learn_module(s, no, &l->place[i], known);
	}
	return known;
}

static void
look_in_file(struct looking *l, size_t i)
{
	size_t index[PACKET_ADDRESSES_MAX];
	struct symbols *s = l->s;
	uint32_t no = l->module[i];
	struct module_known *m = symcache_known(s->cache, no);
	bool had_all = m->fetched != NULL, fetching;
	enum symbol_known known;
	unsigned n;

	known = ask_file(l, i, index, &n);
	fetching = fetch_for(s, m, &l->place[i]);
	/* It came while the reader looked without it: ask again. */
	if (!had_all && m->fetched != NULL) {
		packet_answer_fini(&s->answer);
		known = ask_file(l, i, index, &n);
	}
	for (unsigned k = 0; k < n; k++) {
		struct symbol_words *w = &l->words[index[k]];

		if (known == SYMBOL_LINE) {
			*w = s->answer.words[k];
			memset(&s->answer.words[k], 0,
			    sizeof(s->answer.words[k]));
			symcache_put(s->cache, no, &l->place[index[k]], w);
		} else {
			w->known = known;
		}
		w->fetching = fetching;
		l->module[index[k]] = NONE;
	}
}

void
symbols_look(struct symbols *s, const struct symbol_place *place, size_t n,
    struct symbol_words *words)
{
	struct looking l = { s, place, words, n, NULL };

	if ((l.module = calloc(n, sizeof(*l.module))) == NULL) {
		for (size_t i = 0; i < n; i++)
			is_answered(&place[i], &words[i]);
		return;
	}
	pthread_mutex_lock(&s->lock);
	symcache_begin(s->cache, n);
	for (size_t i = 0; i < n; i++)
		look_in_cache(&l, i);
	for (size_t i = 0; i < n; i++) {
		if (l.module[i] != NONE)
			look_in_file(&l, i);
	}
	pthread_mutex_unlock(&s->lock);
	free(l.module);
}
