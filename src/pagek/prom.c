/* See prom.h. */
#include <inttypes.h>
#include <string.h>

#include "../base/base.h"
#include "prom.h"

#define LABELS 4096		/* two names of 511 bytes, each behind a backslash, and the rest */

/* What every sample has in its braces. */
struct prom {
	FILE *out;
	bool ascii;
	bool sampled;		/* the target logs a sample */
	char labels[LABELS];
};

enum of_sample {
	SAMPLE_SAME,		/* what it is without one */
	SAMPLE_ESTIMATE,	/* scaled up to the whole target */
	SAMPLE_ITS_OWN,		/* cannot be scaled */
};

/* Behind a backslash where the format has it so; all else is safe text. */
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
	snprintf(text, sizeof text, "%04X", look->node_number);
	add_label(p, &len, "node", text);
	add_label(p, &len, "target", look->target_name);
	if (look->pid > 0) {
		snprintf(text, sizeof text, "%ld", (long)look->pid);
		add_label(p, &len, "pid", text);
	}
}

/* The help goes on with what such a number is of a sample, or nothing. */
static void
begin(const struct prom *p, const char *name, const char *type,
    const char *help, enum of_sample of)
{
	static const char *const more[] = {
		[SAMPLE_SAME] = "",
		[SAMPLE_ESTIMATE] = " Estimated from a sample.",
		[SAMPLE_ITS_OWN] = " Of the sample alone.",
	};

	fprintf(p->out, "# HELP pagek_%s %s%s\n# TYPE pagek_%s %s\n", name,
	    help, p->sampled ? more[of] : "", name, type);
}

static void
put(const struct prom *p, const char *name, const char *type,
    const char *help, enum of_sample of, uint64_t n)
{
	begin(p, name, type, help, of);
	fprintf(p->out, "pagek_%s{%s} %" PRIu64 "\n", name, p->labels, n);
}

/* --- the target's own numbers --------------------------------------------- */

static const struct {
	const char *name, *type, *help;
	enum of_sample of;
	enum wire_number stat;
} numbers[] = {
	{ "live_blocks", "gauge", "Blocks that the target holds.",
	    SAMPLE_ESTIMATE, WIRE_N_EST_BLOCKS },
	{ "live_bytes", "gauge", "Bytes that it holds, as requested.",
	    SAMPLE_ESTIMATE, WIRE_N_EST_BYTES },
	{ "records_total", "counter", "Events that it has logged.",
	    SAMPLE_ITS_OWN, WIRE_N_RECORDS },
	{ "allocs_total", "counter", "Allocations that it has logged.",
	    SAMPLE_ITS_OWN, WIRE_N_ALLOCS },
	{ "frees_total", "counter", "Frees that it has logged.",
	    SAMPLE_ITS_OWN, WIRE_N_FREES },
	{ "failed_total", "counter", "Allocations that have failed.",
	    SAMPLE_SAME, WIRE_N_FAILED },
	{ "unknown_frees_total", "counter",
	    "Frees of what was not known to be held.", SAMPLE_ITS_OWN,
	    WIRE_N_UNKNOWN_FREE },
};

static void
put_numbers(const struct prom *p, const struct nodes_look *look)
{
	for (size_t i = 0; i < BASE_NELEM(numbers); i++)
		put(p, numbers[i].name, numbers[i].type, numbers[i].help,
		    numbers[i].of, look->keeper[numbers[i].stat]);
	put(p, "peak_bytes", "gauge", "Most bytes that it ever held.",
	    SAMPLE_ESTIMATE, look->keeper[p->sampled ?
	    WIRE_N_EST_PEAK_BYTES : WIRE_N_PEAK_BYTES]);
	put(p, "lost_records_total", "counter",
	    "Records that were lost on their way.", SAMPLE_ITS_OWN,
	    page_lost(look));
	put(p, "unlisted_blocks_total", "counter",
	    "Blocks that a full list had no room for.", SAMPLE_ITS_OWN,
	    look->full);
	put(p, "complete", "gauge", "1 while nothing is missing, else 0.",
	    SAMPLE_SAME, look->complete);
	if (p->sampled)
		put(p, "sample_period_bytes", "gauge", "Mean bytes between "
		    "samples: blocks and bytes are estimates.", SAMPLE_SAME,
		    look->sample);
}

/* The state is a label: what a number would mean is nobody's to know. */
static void
put_info(const struct prom *p, const struct nodes_look *look)
{
	struct prom state = *p;
	size_t len = strlen(p->labels);

	add_label(&state, &len, "node_name", look->node_name);
	add_label(&state, &len, "state", page_state_name(look->state));
	put(&state, "target_info", "gauge", "What is watched.", SAMPLE_SAME,
	    1);
}

/* --- what it holds, by type ----------------------------------------------- */

struct by_type {
	double blocks[256], bytes[256];
};

static void
sum_types(const struct page_view *v, struct page_sieve *sieve,
    struct by_type *sum)
{
	struct blk rows[256];
	uint64_t offs = 0;
	size_t n, i;

	page_sieve_begin(sieve, v);
	while ((n = blklist_window(v->look->list, BLKLIST_BY_ADDRESS, false,
	    offs, rows, BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n; i++) {
			double weight = blklist_weight(v->look->list,
			    &rows[i]);

			if (!page_sieve_lets(sieve, &rows[i]))
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
    const char *name, const char *help, const struct by_type *sum,
    const double value[256])
{
	char code[8];

	begin(p, name, "gauge", help, SAMPLE_ESTIMATE);
	for (unsigned t = 0; t < 256; t++) {
		struct prom type = *p;
		size_t len = strlen(p->labels);

		if (sum->blocks[t] <= 0)
			continue;
		snprintf(code, sizeof code, "%02X", t);
		add_label(&type, &len, "type", code);
		add_label(&type, &len, "type_name",
		    look->types->by_code[t].name);
		fprintf(p->out, "pagek_%s{%s} %.0f\n", name, type.labels,
		    value[t]);
	}
}

void
prom_write(FILE *out, const struct page_view *v, struct page_sieve *sieve,
    bool ascii)
{
	struct prom p = { .out = out, .ascii = ascii,
		.sampled = v->look->sample != 0 };
	struct by_type sum = { 0 };

	label_target(&p, v->look);
	put_info(&p, v->look);
	put_numbers(&p, v->look);
	sum_types(v, sieve, &sum);
	put_types(&p, v->look, "type_live_blocks", "Blocks that it holds, by "
	    "type.", &sum, sum.blocks);
	put_types(&p, v->look, "type_live_bytes", "Bytes that it holds, by "
	    "type.", &sum, sum.bytes);
}
