#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../places/table.h"
#include "place.h"

#define TABLE_MS 2000		/* between checks of the table's files */
#define OWN_NUMBER 1		/* of a node that has no entry */

struct nodes_survey {
	uv_loop_t *loop;
	uv_timer_t timer;
	struct nodes_survey_opts opts;
	struct nodes_table *table;
	struct table_stamp stamp;	/* of its files */
	int64_t table_due;
	struct survey_place **place;	/* by ascending number */
	const struct nodes_surveyed **row;	/* of each, as nodes_survey_look() returned */
	size_t n;
};

static bool
same_place(const struct nodes_entry *a, const struct nodes_entry *b)
{
	return a->number == b->number && a->at == b->at &&
	    strcmp(a->place, b->place) == 0 &&
	    strcmp(a->remote, b->remote) == 0;
}

static struct survey_place *
find_place(const struct nodes_survey *s, const struct nodes_entry *e, bool own)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->place[i]->own == own &&
		    same_place(&s->place[i]->entry, e))
			return s->place[i];
	return NULL;
}

static void
place_free(struct survey_place *p)
{
	survey_place_fini(p);
	free(p);
}

/* The place of an entry, new if there is none; NULL: no memory. */
static struct survey_place *
get_place(struct nodes_survey *s, const struct nodes_entry *entry, bool own)
{
	struct nodes_entry e = *entry;
	struct survey_place *p;

	if (e.at == NODES_AT_SSH && e.remote[0] == '\0' &&
	    s->opts.remote != NULL &&
	    strlen(s->opts.remote) < sizeof e.remote)
		strcpy(e.remote, s->opts.remote);
	p = find_place(s, &e, own);
	if (p == NULL) {
		p = malloc(sizeof *p);
		if (p == NULL)
			return NULL;
		survey_place_init(p, s->loop, &e, own, s->opts.every_ms);
	} else if (!own) {
		survey_place_name(p, &e);
	}
	p->stays = true;
	return p;
}

static bool
has_place(const struct nodes_survey *s, const struct survey_place *p)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->place[i] == p)
			return true;
	return false;
}

/* Makes the places of a table, in its order, with the own node if it has no local entry. */
static int
make_places(struct nodes_survey *s, const struct nodes_table *t,
    struct survey_place **place, size_t *n)
{
	static const struct nodes_entry here = { .number = OWN_NUMBER,
		.at = NODES_AT_LOCAL };
	bool own = nodes_table_local(t) == NULL;
	size_t i = 0;

	while (i < t->n || own) {
		bool now = own && (i == t->n ||
		    t->entry[i].number > OWN_NUMBER);

		place[*n] = get_place(s, now ? &here : &t->entry[i], now);
		if (place[*n] == NULL)
			return -ENOMEM;
		++*n;
		if (now)
			own = false;
		else
			i++;
	}
	return 0;
}

static int
take_table(struct nodes_survey *s, const struct nodes_table *t)
{
	struct survey_place **place = calloc(t->n + 2, sizeof *place);
	const struct nodes_surveyed **row = calloc(t->n + 2, sizeof *row);
	size_t n = 0, i;

	for (i = 0; i < s->n; i++)
		s->place[i]->stays = false;
	if (place == NULL || row == NULL || make_places(s, t, place, &n) < 0) {
		for (i = 0; i < n; i++)
			if (!has_place(s, place[i]))
				place_free(place[i]);
		free(place);
		free(row);
		return -ENOMEM;
	}
	for (i = 0; i < s->n; i++)
		if (!s->place[i]->stays)
			place_free(s->place[i]);
	free(s->place);
	free(s->row);
	s->place = place;
	s->row = row;
	s->n = n;
	return 0;
}

static int
read_table(struct nodes_survey *s)
{
	struct table_stamp stamp;
	struct nodes_table *t;
	int r;

	table_stamp_take(&stamp, s->opts.user);
	if (s->table != NULL && table_stamp_same(&stamp, &s->stamp))
		return 0;
	r = nodes_table_load(&t, s->opts.user, s->opts.say, s->opts.arg);
	if (r < 0)
		return r;
	r = take_table(s, t);
	if (r < 0) {
		nodes_table_free(t);
		return r;
	}
	nodes_table_free(s->table);
	s->table = t;
	s->stamp = stamp;
	return 0;
}

/* Number of places of a kind with a link, and of those that connect. */
static size_t
count_open(const struct nodes_survey *s, bool far, size_t *connecting)
{
	const struct survey_place *p;
	size_t open = 0;

	*connecting = 0;
	for (size_t i = 0; i < s->n; i++) {
		p = s->place[i];
		if (p->link == NULL || survey_is_far(p) != far)
			continue;
		open++;
		/* A slow login does not delay others. */
		if (!p->welcomed &&
		    mono_ms_since(p->opened) < SURVEY_LOGIN_COUNTED_MS)
			++*connecting;
	}
	return open;
}

/* The place that is due for longest; NULL: none. */
static struct survey_place *
find_due(const struct nodes_survey *s, bool far, int64_t now)
{
	struct survey_place *first = NULL, *p;

	for (size_t i = 0; i < s->n; i++) {
		p = s->place[i];
		if (p->link == NULL && survey_is_far(p) == far &&
		    p->due <= now && (first == NULL || p->due < first->due))
			first = p;
	}
	return first;
}

/* The complete place with the oldest link; NULL: none. */
static struct survey_place *
find_complete(const struct nodes_survey *s, bool far)
{
	struct survey_place *oldest = NULL, *p;

	for (size_t i = 0; i < s->n; i++) {
		p = s->place[i];
		if (p->link != NULL && survey_is_far(p) == far &&
		    survey_place_settled(p) &&
		    mono_ms_since(p->opened) >= SURVEY_STAY_MS &&
		    (oldest == NULL || p->opened.ns < oldest->opened.ns))
			oldest = p;
	}
	return oldest;
}

static void
give_turns(struct nodes_survey *s, bool far)
{
	size_t most = far ? SURVEY_FAR_OPEN : SURVEY_NEAR_OPEN;
	size_t most_connecting = far ? SURVEY_LOGINS : most;
	int64_t now = mono_ms(mono_now());
	size_t connecting, open = count_open(s, far, &connecting);
	struct survey_place *p, *paused;

	while (connecting < most_connecting &&
	    (p = find_due(s, far, now)) != NULL) {
		if (open == most) {
			paused = find_complete(s, far);
			if (paused == NULL)
				return;
			survey_place_pause(paused);
			/* After all that wait now. */
			paused->due = now + 1;
			open--;
		}
		survey_place_open(p);
		open += p->link != NULL;
		connecting += p->link != NULL;
	}
}

static void
on_tick(uv_timer_t *timer)
{
	struct nodes_survey *s = timer->data;
	int64_t now = mono_ms(mono_now());

	if (now >= s->table_due) {
		s->table_due = now + TABLE_MS;
		read_table(s);
	}
	for (size_t i = 0; i < s->n; i++)
		survey_place_step(s->place[i]);
	give_turns(s, false);
	give_turns(s, true);
}

static void
on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

int
nodes_survey_open(struct nodes_survey **out, uv_loop_t *loop,
    const struct nodes_survey_opts *opts)
{
	struct nodes_survey *s = calloc(1, sizeof *s);
	int r;

	if (s == NULL)
		return -ENOMEM;
	s->loop = loop;
	s->opts = *opts;
	r = read_table(s);
	if (r < 0) {
		free(s);
		return r;
	}
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	uv_timer_start(&s->timer, on_tick, 0, SURVEY_TICK_MS);
	*out = s;
	return 0;
}

void
nodes_survey_close(struct nodes_survey *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++)
		place_free(s->place[i]);
	free(s->place);
	free(s->row);
	nodes_table_free(s->table);
	uv_close((uv_handle_t *)&s->timer, on_closed);
}

const struct nodes_surveyed *const *
nodes_survey_look(struct nodes_survey *s, size_t *n)
{
	for (size_t i = 0; i < s->n; i++)
		s->row[i] = survey_place_look(s->place[i]);
	*n = s->n;
	return s->row;
}

bool
nodes_survey_settled(const struct nodes_survey *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!survey_place_settled(s->place[i]))
			return false;
	return true;
}

void
nodes_survey_retry(struct nodes_survey *s, const char *word)
{
	for (size_t i = 0; i < s->n; i++)
		if (word == NULL || strcmp(s->place[i]->row.word, word) == 0)
			survey_place_retry(s->place[i]);
}
