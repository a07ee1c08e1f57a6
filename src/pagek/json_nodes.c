/*
 * The table of nodes as a document, and how the nodes are.
 */
#include <string.h>

#include "../base/base.h"
#include "../page/node_fields.h"
#include "json.h"

/* NULL: the table did not have it yet, or no longer, when it was asked. */
static const struct nodes_surveyed *
find_answer(struct nodes_survey *survey, const char *word)
{
	const struct nodes_surveyed *const *row;
	size_t n = 0;

	if (survey == NULL)
		return NULL;
	row = nodes_survey_look(survey, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(row[i]->word, word) == 0)
			return row[i];
	return NULL;
}

void
json_nodes(struct json *j, const struct nodes_table *t,
    struct nodes_survey *survey, bool complete)
{
	const struct nodes_surveyed *own = find_answer(survey, "local");
	unsigned subset = survey != NULL ? PAGE_NODE_ASKED : PAGE_NODE_LISTED;
	struct page_node_row row;
	char word[8];

	json_document(j, "pagek.nodes/1", &page_node_fields, subset);
	if (survey != NULL) {
		json_key(j, "time");
		json_time(j, base_wall_ms());
		json_key(j, "complete");
		json_bool(j, complete);
	}
	json_rows(j, "nodes");
	/* This user's own node, which has no entry. */
	if (own != NULL) {
		page_node_row(&row, t, NULL, own);
		json_row(j, &row, subset);
	}
	for (size_t i = 0; i < t->n; i++) {
		snprintf(word, sizeof word, "%04X", t->entry[i].number);
		page_node_row(&row, t, &t->entry[i], find_answer(survey,
		    word));
		json_row(j, &row, subset);
	}
	json_rows_end(j);
	json_end(j);
}
