#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "names.h"

#define THREADS 65536

/* By the capture's numbers those of the store; 0: not defined, or no room. */
static int
take_modules(struct keeper *k, const struct capture *c, uint32_t part,
    unsigned **out)
{
	unsigned n = capture_modules(c, part), *no = calloc(n + 1, sizeof *no);
	struct stream_module m;
	int r = no == NULL ? -ENOMEM : 0;

	for (unsigned i = 1; r == 0 && i <= n; i++)
		if (capture_module(c, part, i, &m))
			r = stream_sites_put_module(k->sites, &m, &no[i]);
	if (r < 0 && r != -ENOSPC) {
		free(no);
		return r;
	}
	*out = no;
	return 0;
}

static int
put_site(struct keeper *k, const struct stream_site *s, const unsigned *module,
    unsigned modules, uint32_t *no)
{
	uint64_t frame[RING_STACK_MAX];

	for (unsigned i = 0; i < s->depth; i++) {
		unsigned m = frame_module(s->frame[i]);

		frame[i] = frame_make(frame_pc(s->frame[i]),
		    m <= modules ? module[m] : 0);
	}
	return stream_sites_put(k->sites, frame, s->depth, s->end, no);
}

static int
take_sites(struct replay_names *names, struct keeper *k,
    const struct capture *c, uint32_t part)
{
	uint32_t n = capture_sites(c, part);
	struct stream_site s;
	unsigned *module;
	uint32_t *site;
	int r = take_modules(k, c, part, &module);

	if (r < 0)
		return r;
	site = calloc((size_t)n + 1, sizeof *site);
	r = site == NULL ? -ENOMEM : 0;
	for (uint32_t i = 1; r == 0 && i <= n; i++)
		if (capture_site(c, part, i, &s))
			r = put_site(k, &s, module, capture_modules(c, part),
			    &site[i]);
	free(module);
	if (r < 0 && r != -ENOSPC) {
		free(site);
		return r;
	}
	free(names->site);
	names->site = site;
	names->sites = n;
	return 0;
}

uint64_t
replay_caller(const struct replay_names *names, const struct keeper *k,
    uint64_t caller)
{
	uint32_t no = rec_is_site(caller) ? rec_site(caller) : 0;
	struct stream_module m;
	uint64_t frame;

	if (k->sites == NULL)
		return caller;
	if (rec_is_site(caller))
		return names->site != NULL && no <= names->sites && names->site[no] != 0 ?
		    rec_site_caller(names->site[no]) : 0;
	/* A return address alone: there is no process whose maps name its module. */
	for (unsigned i = 1; caller != 0 &&
	    stream_sites_get_module(k->sites, i, &m); i++) {
		if (caller <= m.start || caller > m.end)
			continue;
		frame = frame_make(caller, i);
		if (stream_sites_put(k->sites, &frame, 1, RING_END_DEPTH,
		    &no) == 0)
			return rec_site_caller(no);
	}
	return caller;
}

/* Without a process id it is not read from /proc. */
static void
take_thread(struct keeper_thread *t, uint32_t tid, const char *name)
{
	size_t n = strnlen(name, sizeof t->name);

	t->tid = tid;
	memset(t->name, 0, sizeof t->name);
	memcpy(t->name, name, n);
}

static int
take_threads(struct keeper *k, const struct capture *c, uint32_t part)
{
	struct keeper_thread *at;
	const char *name;
	uint32_t tid;
	size_t n = 0;

	for (unsigned i = 0; i < THREADS; i++)
		if (capture_thread(c, part, i, &tid, &name))
			n = i + 1;
	if (n <= k->threads.n)
		n = k->threads.n;
	at = realloc(k->threads.at, (n + 1) * sizeof *at);
	if (at == NULL)
		return -ENOMEM;
	memset(at + k->threads.n, 0, (n + 1 - k->threads.n) * sizeof *at);
	k->threads.at = at;
	k->threads.n = k->threads.cap = n;
	for (unsigned i = 0; i < n; i++)
		if (capture_thread(c, part, i, &tid, &name))
			take_thread(&at[i], tid, name);
	return 0;
}

int
replay_names_take(struct replay_names *names, struct keeper *k,
    const struct capture *c, uint32_t part)
{
	int r = k->sites != NULL ? take_sites(names, k, c, part) : 0;

	if (r == 0)
		r = take_threads(k, c, part);
	if (r < 0)
		return r;
	capture_types(c, part, k->declared.types);
	keeper_types_changed(k);
	return 0;
}

void
replay_names_fini(struct replay_names *names)
{
	free(names->site);
	*names = (struct replay_names){ .site = NULL };
}
