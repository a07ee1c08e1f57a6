#include <string.h>

#include "../../base/base.h"
#include "friendly.h"

int
friendly_load(struct friendly *f, bool user, nodes_say_cb say, void *arg)
{
	f->user = user;
	f->say = say;
	f->arg = arg;
	table_stamp_take(&f->stamp, f->user);
	return nodes_table_load(&f->table, f->user, say, arg);
}

void
friendly_fini(struct friendly *f)
{
	nodes_table_free(f->table);
	nodes_table_free(f->next);
	f->table = f->next = NULL;
}

/* By a worker. */
static void
read_table(uv_work_t *work)
{
	struct friendly *f = work->data;

	table_stamp_take(&f->next_stamp, f->user);
	if (!table_stamp_same(&f->next_stamp, &f->stamp) &&
	    nodes_table_load(&f->next, f->user, f->say, f->arg) < 0)
		f->next = NULL;
}

static void
on_table(uv_work_t *work, int status)
{
	struct friendly *f = work->data;

	f->working = false;
	if (status < 0 || f->next == NULL)
		return;
	nodes_table_free(f->table);
	f->table = f->next;
	f->next = NULL;
	f->stamp = f->next_stamp;
	memset(f->kept, 0, sizeof f->kept);
}

void
friendly_second(struct friendly *f, uv_loop_t *loop)
{
	if (f->table == NULL || f->working)
		return;
	f->work.data = f;
	f->working = uv_queue_work(loop, &f->work, read_table, on_table) == 0;
}

const struct nodes_entry *
friendly_entry(const struct friendly *f, uint16_t number)
{
	return f->table != NULL ? nodes_table_number(f->table, number) : NULL;
}

static uint16_t
look_up(struct friendly *f, uint16_t number)
{
	const struct nodes_entry *e = friendly_entry(f, number);
	uint16_t friendly = e != NULL ? nodes_entry_friendly(e) : 0;

	f->misses++;
	if (friendly != 0)
		return friendly;
	f->unknown++;
	return number;
}

uint16_t
friendly_get(struct friendly *f, uint16_t number)
{
	struct friendly_kept *k = &f->kept[(number ^ number >> 8) %
	    FRIENDLY_KEPT];

	if (number == 0)
		return 0;
	if (k->number == number) {
		f->hits++;
		return k->friendly;
	}
	*k = (struct friendly_kept){ .number = number,
		.friendly = look_up(f, number),
		.since_ms = mono_ms(mono_now()) };
	return k->friendly;
}

void
friendly_stat(const struct friendly *f, uint64_t n[WIRE_STATS_COUNT])
{
	int64_t now = mono_ms(mono_now()), oldest = now;

	for (size_t i = 0; i < FRIENDLY_KEPT; i++)
		if (f->kept[i].number != 0 && f->kept[i].since_ms < oldest)
			oldest = f->kept[i].since_ms;
	n[WIRE_N_FRIENDLY_HITS] = f->hits;
	n[WIRE_N_FRIENDLY_MISSES] = f->misses;
	n[WIRE_N_FRIENDLY_UNKNOWN] = f->unknown;
	n[WIRE_N_FRIENDLY_OLDEST_S] = (uint64_t)(now - oldest) / 1000;
}
