/*
 * Debug files are fetched one after the other, each in a run of pagek-symbols,
 * watched by a thread.  A file that could not be had is not asked for again:
 * libdebuginfod itself waits minutes for a silent server.
 */
#include "client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FETCHES_MAX 256
/* Longer than any server takes: the library has limits of its own. */
#define SILENCE_MS 300000
/* How soon a fetch is ended after fetches_stop(). */
#define LOOK_UP_MS 200

struct fetch {
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
	unsigned len;
	char module[256];
	enum fetch_state state;
	uint32_t kb, of_kb;
	char *path;
};

struct fetches {
	const char *reader;
	_Atomic bool stop;	/* changes under the lock */

	pthread_mutex_t lock;	/* all below */
	pthread_cond_t more;
	pthread_t thread;
	bool started;
	struct fetch fetch[FETCHES_MAX];
	unsigned n, done;	/* those before have ended */
};

/* A line of reader_fetch.c; true: the last. */
static bool
take_progress(struct fetches *f, struct fetch *e, char *line)
{
	unsigned long kb, of_kb;
	bool last = true;

	pthread_mutex_lock(&f->lock);
	if (line[0] == '=' && line[1] == ' ' && line[2] == '/') {
		e->path = strdup(line + 2);
		e->state = e->path == NULL ? FETCH_NONE : FETCH_HERE;
	} else if (sscanf(line, "%lu %lu", &kb, &of_kb) == 2) {
		e->kb = kb > UINT32_MAX ? UINT32_MAX : (uint32_t)kb;
		e->of_kb = of_kb > UINT32_MAX ? UINT32_MAX : (uint32_t)of_kb;
		last = false;
	}
	pthread_mutex_unlock(&f->lock);
	return last;
}

static void
read_progress(struct fetches *f, struct fetch *e, struct child *c)
{
	struct mono heard = mono_now();
	char text[PACKET_PATH_MAX + 16];
	size_t len = 0;

	while (!f->stop && mono_ms_since(heard) < SILENCE_MS) {
		ssize_t got = symchild_read_some(c, (uint8_t *)text + len,
		    sizeof(text) - 1 - len, symchild_deadline(LOOK_UP_MS));
		char *end;

		if (got == -ETIMEDOUT)
			continue;
		if (got <= 0)
			return;
		heard = mono_now();
		len += (size_t)got;
		text[len] = '\0';
		while ((end = strchr(text, '\n')) != NULL) {
			*end = '\0';
			if (take_progress(f, e, text))
				return;
			len -= (size_t)(end + 1 - text);
			memmove(text, end + 1, len + 1);
		}
		if (len == sizeof(text) - 1 || strlen(text) != len)
			return;
	}
}

static void
run_fetch(struct fetches *f, struct fetch *e)
{
	char hex[2 * SYMBOL_BUILD_ID_MAX + 1] = "";
	char word[] = "fetch", *reader = strdup(f->reader);
	char *argv[] = { reader, word, hex, NULL };
	struct child c = { .stop = -1 };

	for (unsigned i = 0; i < e->len; i++)
		snprintf(hex + 2 * i, 3, "%02x", e->build_id[i]);
	if (reader != NULL && symchild_start(&c, argv, false) == 0) {
		read_progress(f, e, &c);
		symchild_end(&c);
	}
	free(reader);
}

static void *
fetch_all(void *arg)
{
	struct fetches *f = arg;

	pthread_mutex_lock(&f->lock);
	while (!f->stop) {
		struct fetch *e = &f->fetch[f->done];

		if (f->done == f->n) {
			pthread_cond_wait(&f->more, &f->lock);
			continue;
		}
		pthread_mutex_unlock(&f->lock);
		run_fetch(f, e);
		pthread_mutex_lock(&f->lock);
		if (e->state == FETCH_GOING)
			e->state = FETCH_NONE;
		f->done++;
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

int
fetches_new(struct fetches **out, const char *reader)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct fetches *f;

	if (urls == NULL || urls[strspn(urls, " ")] == '\0') {
		*out = NULL;
		return 0;
	}
	if ((f = calloc(1, sizeof(*f))) == NULL)
		return -ENOMEM;
	f->reader = reader;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->more, NULL);
	*out = f;
	return 0;
}

void
fetches_stop(struct fetches *f)
{
	if (f == NULL)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->lock);
}

void
fetches_free(struct fetches *f)
{
	if (f == NULL)
		return;
	fetches_stop(f);
	if (f->started)
		pthread_join(f->thread, NULL);
	for (unsigned i = 0; i < f->n; i++)
		free(f->fetch[i].path);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->more);
	free(f);
}

/* NULL: no room or no thread. */
static struct fetch *
find_or_add(struct fetches *f, const uint8_t *build_id, unsigned len,
    const char *module)
{
	const char *slash = strrchr(module, '/');
	struct fetch *e;

	for (unsigned i = 0; i < f->n; i++) {
		e = &f->fetch[i];
		if (e->len == len && memcmp(e->build_id, build_id, len) == 0)
			return e;
	}
	if (f->n == FETCHES_MAX)
		return NULL;
	if (!f->started)
		f->started = pthread_create(&f->thread, NULL, fetch_all, f) ==
		    0;
	if (!f->started)
		return NULL;
	e = &f->fetch[f->n++];
	*e = (struct fetch) { .len = len, .state = FETCH_GOING };
	memcpy(e->build_id, build_id, len);
	snprintf(e->module, sizeof(e->module), "%s",
	    slash != NULL ? slash + 1 : module);
	pthread_cond_signal(&f->more);
	return e;
}

enum fetch_state
fetches_want(struct fetches *f, const uint8_t *build_id, unsigned len,
    const char *module, char **path)
{
	enum fetch_state state = FETCH_NONE;
	struct fetch *e;

	if (f == NULL || len == 0)
		return FETCH_NONE;
	pthread_mutex_lock(&f->lock);
	e = find_or_add(f, build_id, len, module);
	if (e != NULL)
		state = e->state;
	if (state == FETCH_HERE && (*path = strdup(e->path)) == NULL)
		state = FETCH_NONE;
	pthread_mutex_unlock(&f->lock);
	return state;
}

bool
fetches_progress(struct fetches *f, struct symbols_fetch *out)
{
	bool going = false;

	if (f == NULL)
		return false;
	pthread_mutex_lock(&f->lock);
	if (f->done < f->n) {
		const struct fetch *e = &f->fetch[f->done];

		going = true;
		memcpy(out->module, e->module, sizeof(out->module));
		out->kb = e->kb;
		out->of_kb = e->of_kb;
	}
	pthread_mutex_unlock(&f->lock);
	return going;
}
