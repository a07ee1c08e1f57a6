/* See friendly.h. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/base.h"
#include "friendly.h"
#include "node.h"
#include "table.h"

/* --- files ---------------------------------------------------------------- */

static void
take_stamp(struct friendly_stamp *s, enum nodes_file file, bool user)
{
	char path[PATH_MAX];
	struct stat st;

	memset(s, 0, sizeof *s);
	if (!table_path(file, user, path, sizeof path) || stat(path, &st) < 0)
		return;
	*s = (struct friendly_stamp){
		.there = true,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.written = st.st_mtim,
		.changed = st.st_ctim,
	};
}

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool
same_stamp(const struct friendly_stamp *a, const struct friendly_stamp *b)
{
	return a->there == b->there && a->dev == b->dev && a->ino == b->ino &&
	    a->size == b->size && same_time(&a->written, &b->written) &&
	    same_time(&a->changed, &b->changed);
}

/* Before the bytes: what is written meanwhile is seen the next time. */
static void
take_stamps(struct friendly_stamp stamp[NODES_FILES], bool user)
{
	for (enum nodes_file i = 0; i < NODES_FILES; i++)
		take_stamp(&stamp[i], i, user);
}

int
friendly_load(struct node *node, nodes_say_cb say, void *arg)
{
	struct friendly *f = &node->friendly;

	f->user = !node->opts.system;
	f->say = say;
	f->arg = arg;
	take_stamps(f->stamp, f->user);
	return nodes_table_load(&f->table, f->user, say, arg);
}

void
friendly_fini(struct node *node)
{
	nodes_table_free(node->friendly.table);
	nodes_table_free(node->friendly.next);
	node->friendly.table = node->friendly.next = NULL;
}

/* By a worker. */
static void
look(uv_work_t *work)
{
	struct friendly *f = work->data;
	bool same = true;

	take_stamps(f->next_stamp, f->user);
	for (size_t i = 0; i < NODES_FILES; i++)
		same &= same_stamp(&f->next_stamp[i], &f->stamp[i]);
	if (!same &&
	    nodes_table_load(&f->next, f->user, f->say, f->arg) < 0)
		f->next = NULL;
}

static void
on_looked(uv_work_t *work, int status)
{
	struct friendly *f = work->data;

	f->working = false;
	if (status < 0 || f->next == NULL)
		return;
	nodes_table_free(f->table);
	f->table = f->next;
	f->next = NULL;
	memcpy(f->stamp, f->next_stamp, sizeof f->stamp);
	memset(f->kept, 0, sizeof f->kept);
}

void
friendly_second(struct node *node)
{
	struct friendly *f = &node->friendly;

	if (f->table == NULL || f->working)
		return;
	f->work.data = f;
	f->working = uv_queue_work(node->loop, &f->work, look, on_looked) == 0;
}

/* --- translations --------------------------------------------------------- */

const struct nodes_entry *
friendly_entry(const struct node *node, uint16_t number)
{
	const struct friendly *f = &node->friendly;

	return f->table != NULL ? nodes_table_number(f->table, number) : NULL;
}

static uint16_t
look_up(struct node *node, uint16_t number)
{
	const struct nodes_entry *e = friendly_entry(node, number);
	uint16_t friendly = e != NULL ? nodes_entry_friendly(e) : 0;

	node->friendly.misses++;
	if (friendly != 0)
		return friendly;
	node->friendly.unknown++;
	return number;
}

uint16_t
friendly_get(struct node *node, uint16_t number)
{
	struct friendly *f = &node->friendly;
	struct friendly_kept *k = &f->kept[(number ^ number >> 8) %
	    FRIENDLY_KEPT];

	if (number == 0)
		return 0;
	if (k->number == number) {
		f->hits++;
		return k->friendly;
	}
	*k = (struct friendly_kept){ .number = number,
		.friendly = look_up(node, number),
		.since_ms = mono_ms(mono_now()) };
	return k->friendly;
}

void
friendly_stat(const struct node *node, uint64_t n[WIRE_STATS_COUNT])
{
	const struct friendly *f = &node->friendly;
	int64_t now = mono_ms(mono_now()), oldest = now;

	for (size_t i = 0; i < FRIENDLY_KEPT; i++)
		if (f->kept[i].number != 0 && f->kept[i].since_ms < oldest)
			oldest = f->kept[i].since_ms;
	n[WIRE_N_FRIENDLY_HITS] = f->hits;
	n[WIRE_N_FRIENDLY_MISSES] = f->misses;
	n[WIRE_N_FRIENDLY_UNKNOWN] = f->unknown;
	n[WIRE_N_FRIENDLY_OLDEST_S] = (uint64_t)(now - oldest) / 1000;
}
