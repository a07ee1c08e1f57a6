#include <inttypes.h>
#include <string.h>

#include "../../base/base.h"
#include "../layout/layout.h"
#include "../layout/fields.h"
#include "documents.h"

#define LABELS 4096		/* at least two names of 511 bytes, each escaped */

struct prom {
	FILE *out;
	bool ascii;
	bool sampled;		/* the target logs a sample */
	char labels[LABELS];	/* of every sample */
};

static void
add_label(struct prom *p, size_t *len, const char *name, const char *value)
{
	char safe[512];

	base_safe_text(safe, sizeof safe, value, strlen(value), p->ascii);
	base_append(p->labels, sizeof p->labels, len, "%s%s=\"",
	    *len > 0 ? "," : "", name);
	for (const char *c = safe; *c != '\0'; c++)
		base_append(p->labels, sizeof p->labels, len, "%s%c",
		    *c == '"' || *c == '\\' ? "\\" : "", *c);
	base_append(p->labels, sizeof p->labels, len, "\"");
}

static void
label_target(struct prom *p, const struct nodes_look *look)
{
	char text[24];
	size_t len = 0;

	p->labels[0] = '\0';
	snprintf(text, sizeof text, "%04X", look->node.number);
	add_label(p, &len, "node", text);
	add_label(p, &len, "target", look->target.name);
	if (look->target.pid > 0) {
		snprintf(text, sizeof text, "%ld", (long)look->target.pid);
		add_label(p, &len, "pid", text);
	}
}

static void
put_help(const struct prom *p, const struct field_metric *m, const char *name)
{
	static const char *const more[] = {
		[FIELD_SAME] = "",
		[FIELD_ESTIMATE] = " Estimated from a sample.",
		[FIELD_SAMPLED] = " Of the sample only.",
	};

	fprintf(p->out, "# HELP pagek_%s %s%s", name, m->help,
	    p->sampled ? more[m->sampled] : "");
	if (name != m->name)
		fprintf(p->out, " Old name of pagek_%s.", m->name);
	fprintf(p->out, "\n# TYPE pagek_%s %s\n", name, m->type);
}

static void
put_info(const struct prom *p, const struct nodes_look *look)
{
	static const struct field_metric info = { "target_info", NULL, "gauge",
		"The watched target.", FIELD_SAME };
	struct prom state = *p;
	size_t len = strlen(p->labels);

	add_label(&state, &len, "node_name", look->node.name);
	add_label(&state, &len, "state", page_look_state(look));
	put_help(&state, &info, info.name);
	fprintf(p->out, "pagek_%s{%s} 1\n", info.name, state.labels);
}

static void
put_metric(const struct prom *p, const struct field_metric *m,
    const char *name, uint64_t n)
{
	if (name == NULL)
		return;
	put_help(p, m, name);
	fprintf(p->out, "pagek_%s{%s} %" PRIu64 "\n", name, p->labels, n);
}

static void
put_metrics(const struct prom *p, const struct nodes_look *look)
{
	const struct field_table *t = &page_target_fields;
	struct page_target_row row = { .n = look->keeper,
		.sample = look->sample, .lost = page_lost(look),
		.full = look->loss.full, .judged = true,
		.complete = look->complete };
	unsigned subset = PAGE_TARGET_MEASURED |
	    (p->sampled ? PAGE_TARGET_SAMPLED : 0);
	struct field_value v;

	for (const struct field *f = t->field; f < t->field + t->n; f++) {
		if (f->metric.name == NULL || !field_belongs(f, subset) ||
		    !field_value(f, &row, &v))
			continue;
		put_metric(p, &f->metric, f->metric.name, v.n);
		put_metric(p, &f->metric, f->metric.old, v.n);
	}
}

void
prom_sum_types(const struct page_view *v, struct page_row_filter *filter,
    struct type_sums *sum)
{
	struct blk rows[256];
	uint64_t offs = 0;
	size_t n, i;

	*sum = (struct type_sums){ 0 };
	page_row_filter_begin(filter, v);
	while ((n = blklist_window(v->look->list, BLKLIST_BY_ADDRESS, false,
	    offs, rows, BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n; i++) {
			double weight = blklist_weight(v->look->list,
			    &rows[i]);

			if (!page_row_filter_matches(filter, &rows[i]))
				continue;
			sum->blocks[rows[i].type] += weight;
			sum->bytes[rows[i].type] += weight *
			    (double)rows[i].size;
		}
		offs += n;
	}
}

static void
put_types(const struct prom *p, const struct nodes_look *look,
    const struct field_metric *metric, const char *name,
    const struct type_sums *sum, const double value[256])
{
	char code[8];

	put_help(p, metric, name);
	for (unsigned t = 0; t < 256; t++) {
		struct prom type = *p;
		size_t len = strlen(p->labels);

		if (sum->blocks[t] <= 0)
			continue;
		snprintf(code, sizeof code, "%02X", t);
		add_label(&type, &len, "type", code);
		add_label(&type, &len, "type_name",
		    look->types->by_code[t].name);
		fprintf(p->out, "pagek_%s{%s} %.0f\n", name,
		    type.labels, value[t]);
	}
}

const struct field_metric prom_type_metrics[PROM_TYPE_METRICS] = {
	{ "type_est_blocks", "type_live_blocks", "gauge",
	    "Blocks that it holds, by type.", FIELD_ESTIMATE },
	{ "type_est_bytes", "type_live_bytes", "gauge",
	    "Bytes that it holds, by type.", FIELD_ESTIMATE },
};

void
prom_write(FILE *out, const struct page_view *v, struct page_row_filter *filter,
    bool ascii)
{
	struct prom p = { .out = out, .ascii = ascii,
		.sampled = v->look->sample != 0 };
	struct type_sums sum;

	label_target(&p, v->look);
	put_info(&p, v->look);
	put_metrics(&p, v->look);
	prom_sum_types(v, filter, &sum);
	for (size_t i = 0; i < PROM_TYPE_METRICS; i++) {
		const struct field_metric *m = &prom_type_metrics[i];
		const double *value = i == 0 ? sum.blocks : sum.bytes;

		put_types(&p, v->look, m, m->name, &sum, value);
		put_types(&p, v->look, m, m->old, &sum, value);
	}
}
