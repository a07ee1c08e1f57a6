#include <string.h>

#include "../arrivals/arrivals.h"
#include "../keeper/node.h"
#include "images.h"

#define READ_LATELY_MS 2000	/* a page is looking: its list is not dropped */

/* The last one's list stays: its forked children may say hello yet. */
static bool
may_drop(const struct keeper *k)
{
	return TAILQ_NEXT(k, link) != NULL &&
	    mono_ms(mono_now()) - k->visits.read_ms >= READ_LATELY_MS;
}

static size_t
list_bytes(const struct keeper *k)
{
	return blklist_memory(k->list) +
	    (k->sites != NULL ? stream_sites_memory(k->sites) : 0);
}

static uint64_t
weigh_list(const struct keeper *k)
{
	return may_drop(k);
}

static uint64_t
weigh_bytes(const struct keeper *k)
{
	return may_drop(k) ? list_bytes(k) : 0;
}

/* First list of the user whose lists weigh most, to spare others; or NULL. */
static struct keeper *
first_of_most(struct node *node, uint64_t (*weigh)(const struct keeper *))
{
	struct keeper *k;
	struct {
		uid_t uid;
		uint64_t weight;
		struct keeper *first;
	} user[NODE_ENDED_USERS], *most = NULL;
	size_t n = 0, i;

	TAILQ_FOREACH(k, &node->images->shelved, shelf) {
		uint64_t weight = weigh(k);

		if (weight == 0)
			continue;
		for (i = 0; i < n && user[i].uid != k->image.uid; i++)
			continue;
		if (i == NODE_ENDED_USERS)
			continue;
		if (i == n) {
			user[i].uid = k->image.uid;
			user[i].weight = 0;
			user[i].first = k;
			n++;
		}
		user[i].weight += weight;
	}
	for (i = 0; i < n; i++)
		if (most == NULL || user[i].weight > most->weight)
			most = &user[i];
	return most != NULL ? most->first : NULL;
}

void
images_init(struct node *node)
{
	TAILQ_INIT(&node->images->ended);
	TAILQ_INIT(&node->images->shelved);
}

void
images_forget_row(struct keeper *k)
{
	dstrm_remove(&k->node->dstrm, k->index);
	k->index = KEEPER_NO_ROW;
}

void
images_count_missed(struct node *node, uint64_t images, const char *why)
{
	node->images->gone.images += images;
	node->images->gone.missed += images;
	if (images > 0 && node->images->gone.why[0] == '\0')
		snprintf(node->images->gone.why, sizeof node->images->gone.why,
		    "%s", why);
}

static void
count_gone(struct node *node, const struct keeper *k)
{
	const struct blklist_counts *n = keeper_counts(k);
	uint64_t peak = k->format.sample != 0 ? n->est_peak_bytes :
	    n->peak_bytes;

	if (k->missed)
		images_count_missed(node, 1, k->life.reason);
	else
		node->images->gone.images++;
	node->images->gone.lost += keeper_lost(k);
	node->images->gone.full += n->full;
	if (peak > node->images->gone.peak)
		node->images->gone.peak = peak;
	if (peak_most(k) > node->images->gone.peak_most)
		node->images->gone.peak_most = peak_most(k);
}

const char *
images_missed_why(const struct node *node)
{
	const char *why = node->images->gone.why;

	if (why[0] == '\0')
		unseen_counted(&node->hello->unseen, &why);
	return why;
}

void
images_stat(const struct node *node, uint64_t n[WIRE_STATS_COUNT])
{
	uint64_t unseen = unseen_counted(&node->hello->unseen, NULL);

	n[WIRE_N_GONE] = node->images->gone.images + unseen;
	n[WIRE_N_GONE_PEAK] = node->images->gone.peak;
	n[WIRE_N_GONE_LOST] = node->images->gone.lost;
	n[WIRE_N_GONE_MISSED] = node->images->gone.missed + unseen;
	n[WIRE_N_GONE_FULL] = node->images->gone.full;
	n[WIRE_N_GONE_PEAK_MOST] = node->images->gone.peak_most;
}

/* The user's number of rows; NULL where there are too many users to count. */
static uint32_t *
rows_of(struct node *node, uid_t uid)
{
	struct ended_user *place = NULL;

	for (unsigned i = 0; i < NODE_ENDED_USERS; i++) {
		struct ended_user *u = &node->images->ended_user[i];

		if (u->rows > 0 && u->uid == uid)
			return &u->rows;
		if (u->rows == 0 && place == NULL)
			place = u;
	}
	if (place == NULL)
		return NULL;
	place->uid = uid;
	return &place->rows;
}

void
images_put_ended(struct keeper *k)
{
	uint32_t *rows = rows_of(k->node, k->image.uid);

	TAILQ_INSERT_TAIL(&k->node->images->ended, k, link);
	if (rows != NULL)
		++*rows;
}

static void
forget_ended(struct node *node, struct keeper *k)
{
	uint32_t *rows = rows_of(node, k->image.uid);

	/* Rows may have come before their user was counted. */
	if (rows != NULL && *rows > 0)
		--*rows;
	count_gone(node, k);
	TAILQ_REMOVE(&node->images->ended, k, link);
	images_unshelve(k);
	images_forget_row(k);
	keeper_unref(k);
}

/* Called for each program that a build starts, so rows are counted per user. */
bool
images_make_room(struct node *node)
{
	const struct ended_user *most = &node->images->ended_user[0];
	struct keeper *k;

	for (unsigned i = 1; i < NODE_ENDED_USERS; i++)
		if (node->images->ended_user[i].rows > most->rows)
			most = &node->images->ended_user[i];
	TAILQ_FOREACH(k, &node->images->ended, link)
		if (most->rows == 0 || k->image.uid == most->uid)
			break;
	if (k == NULL)
		return false;
	forget_ended(node, k);
	return true;
}

void
images_shelve(struct keeper *k)
{
	if (k->list != NULL)
		TAILQ_INSERT_TAIL(&k->node->images->shelved, k, shelf);
}

void
images_unshelve(struct keeper *k)
{
	if (!keeper_is_live(k) && k->list != NULL)
		TAILQ_REMOVE(&k->node->images->shelved, k, shelf);
}

void
images_drop(struct keeper *k)
{
	images_unshelve(k);
	keeper_drop(k);
}

_Static_assert(NODE_LISTS_SHELVED == 16 && NODE_LISTS_BYTES == 256u << 20,
    "as the sentences below say");

/* Called for each image that ends, so it looks only at those with lists. */
void
images_trim(struct node *node)
{
	size_t bytes = 0, shelved = 0;
	struct keeper *k;

	TAILQ_FOREACH(k, &node->images->shelved, shelf) {
		bytes += list_bytes(k);
		shelved++;
	}
	while ((shelved > NODE_LISTS_SHELVED || bytes > NODE_LISTS_BYTES) &&
	    (k = first_of_most(node, shelved > NODE_LISTS_SHELVED ? weigh_list :
	    weigh_bytes)) != NULL) {
		k->last.dropped_ms = base_wall_ms();
		k->last.dropped = shelved > NODE_LISTS_SHELVED ?
		    "the node keeps those of the last 16 ended targets" :
		    "the node keeps 256 MiB of lists of ended targets";
		bytes -= list_bytes(k);
		shelved--;
		images_drop(k);
	}
}

/* Counts each user's rows again: with many users, some were not counted. */
static unsigned
count_rows(struct node *node)
{
	unsigned all = 0;
	struct keeper *k;
	uint32_t *rows;

	memset(node->images->ended_user, 0, sizeof node->images->ended_user);
	TAILQ_FOREACH(k, &node->images->ended, link) {
		rows = rows_of(node, k->image.uid);
		if (rows != NULL)
			++*rows;
		all++;
	}
	return all;
}

void
images_forget_old(struct node *node)
{
	int64_t now = base_wall_ms();
	unsigned rows;
	struct keeper *k;

	if (!node->opts.daemon)
		return;
	rows = count_rows(node);
	for (; rows > NODE_ENDED_ROWS; rows--)
		images_make_room(node);
	while ((k = TAILQ_FIRST(&node->images->ended)) != NULL &&
	    now - k->life.ended_ms > NODE_ENDED_MS)
		forget_ended(node, k);
}
