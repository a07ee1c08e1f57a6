/*
 * The table of nodes as JSON, and how the nodes are.
 */
#include <string.h>

#include "../base/base.h"
#include "../page/nodes_page.h"
#include "json.h"

static void
put_surveyed_target(struct json *j, const struct nodes_surveyed_target *t)
{
	json_begin(j, '{', false);
	json_stream(j, t->pid, t->comm, t->name);
	json_key(j, "state");
	json_text(j, page_target_state(t->state));
	json_sample(j, t->sample);
	json_key(j, "est_blocks");
	json_known(j, t->state != WIRE_S_DORMANT, t->blocks);
	json_key(j, "est_bytes");
	json_known(j, t->state != WIRE_S_DORMANT, t->bytes);
	json_key(j, "records_per_second");
	json_known(j, t->rated, t->rate);
	json_key(j, "lost");
	json_number(j, t->lost);
	json_key(j, "full");
	json_number(j, t->full);
	json_end(j);
}

/*
 * How a node is; NULL: the table had it not yet, or no longer, when it was
 * asked.
 */
static void
put_how(struct json *j, const struct nodes_surveyed *r)
{
	bool known = r != NULL && r->counted && page_how_answers(r->how);

	json_key(j, "state");
	json_text(j, r != NULL ? page_how_name(r->how) : NULL);
	json_key(j, "state_ms");
	json_known(j, r != NULL, r != NULL ? (uint64_t)r->how_ms : 0);
	json_key(j, "seen_ms");
	json_known(j, r != NULL && r->seen_ms >= 0,
	    r != NULL ? (uint64_t)r->seen_ms : 0);
	json_key(j, "round_trip_us");
	json_known(j, r != NULL && r->trip_us >= 0,
	    r != NULL ? (uint64_t)r->trip_us : 0);
	json_key(j, "reason");
	json_text(j, r != NULL ? or_null(r->reason) : NULL);
	json_key(j, "targets_live");
	json_known(j, known, known ? r->live : 0);
	json_key(j, "est_blocks");
	json_known(j, known, known ? r->blocks : 0);
	json_key(j, "est_bytes");
	json_known(j, known, known ? r->bytes : 0);
	json_key(j, "records_per_second");
	json_known(j, known && r->rated, known ? r->rate : 0);
	json_key(j, "lost");
	json_known(j, known, known ? r->lost : 0);
	json_key(j, "full");
	json_known(j, known, known ? r->full : 0);
	json_key(j, "targets");
	if (!known) {
		json_null(j);
		return;
	}
	json_begin(j, '[', true);
	for (size_t i = 0; i < r->ntarget; i++)
		put_surveyed_target(j, &r->target[i]);
	json_end(j);
}

static const struct nodes_surveyed *
find_how(struct nodes_survey *survey, const char *word)
{
	size_t n, i;
	const struct nodes_surveyed *const *row = nodes_survey_look(survey,
	    &n);

	for (i = 0; i < n; i++)
		if (strcmp(row[i]->word, word) == 0)
			return row[i];
	return NULL;
}

static void
put_node(struct json *j, const struct nodes_table *t,
    const struct nodes_entry *e, struct nodes_survey *survey)
{
	char where[sizeof e->place + 8], acnet[16] = "", word[8];

	nodes_entry_where(e, where, sizeof where);
	if (e->port == NODES_PORT_ACNET)
		snprintf(acnet, sizeof acnet, "%u.%u", e->trunk, e->node);
	json_begin(j, '{', false);
	json_key(j, "number");
	json_node(j, e->number);
	json_key(j, "name");
	json_text(j, e->name);
	json_key(j, "where");
	json_text(j, where);
	json_key(j, "remote");
	json_text(j, or_null(e->remote));
	json_key(j, "acnet");
	json_text(j, or_null(acnet));
	json_key(j, "classic");
	json_known(j, e->port == NODES_PORT_CLASSIC, e->classic);
	json_key(j, "friendly");
	if (e->port != NODES_PORT_NONE)
		json_node(j, nodes_entry_friendly(e));
	else
		json_null(j);
	json_key(j, "file");
	json_text(j, t->path[e->file]);
	json_key(j, "line");
	json_number(j, e->line);
	if (survey != NULL) {
		snprintf(word, sizeof word, "%04X", e->number);
		put_how(j, find_how(survey, word));
	}
	json_end(j);
}

/* This user's own, of which the table has nothing. */
static void
put_own(struct json *j, const struct nodes_surveyed *r)
{
	static const char *const none[] = { "remote", "acnet", "classic",
		"friendly", "file", "line" };

	json_begin(j, '{', false);
	json_key(j, "number");
	json_node(j, r->number);
	json_key(j, "name");
	json_text(j, or_null(r->name));
	json_key(j, "where");
	json_text(j, r->where);
	for (size_t i = 0; i < BASE_NELEM(none); i++) {
		json_key(j, none[i]);
		json_null(j);
	}
	put_how(j, r);
	json_end(j);
}

/* The last ones are there where the nodes were asked. */
#define COLUMNS_UNASKED 9

static const struct json_column columns[] = {
	{ "number", NULL }, { "name", NULL }, { "where", NULL },
	{ "remote", NULL }, { "acnet", NULL }, { "classic", NULL },
	{ "friendly", NULL }, { "file", NULL }, { "line", NULL },
	{ "state", NULL }, { "state_ms", NULL }, { "seen_ms", NULL },
	{ "round_trip_us", NULL }, { "reason", NULL },
	{ "targets_live", NULL }, { "est_blocks", NULL },
	{ "est_bytes", NULL }, { "records_per_second", NULL },
	{ "lost", NULL }, { "full", NULL }, { "complete", "complete" },
	{ "taken", "time" },
};

void
json_nodes(struct json *j, const struct nodes_table *t,
    struct nodes_survey *survey, bool complete)
{
	const struct nodes_surveyed *own = survey != NULL ?
	    find_how(survey, "local") : NULL;

	json_document(j, "pagek.nodes/1", columns, survey != NULL ?
	    BASE_NELEM(columns) : COLUMNS_UNASKED);
	if (survey != NULL) {
		json_key(j, "time");
		json_time(j, base_wall_ms());
		json_key(j, "complete");
		json_bool(j, complete);
	}
	json_rows(j, "nodes");
	if (own != NULL)
		put_own(j, own);
	for (size_t i = 0; i < t->n; i++)
		put_node(j, t, &t->entry[i], survey);
	json_rows_end(j);
	json_end(j);
}
