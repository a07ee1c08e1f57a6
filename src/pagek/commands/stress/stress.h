/*
 * stress: `pagek stress`, what a kernel spent on finding memory, as text and as data.
 *
 *	cmd_stress.c	the command: of a node, of this machine, of a capture
 *	stress_tables.c	the kernel's own memory: --sites, --slab
 *	stress_baseline.c	the file of --baseline
 *	allocator_levels.c	levels of a target's own allocators: --allocators
 */
#ifndef PAGEK_COMMANDS_STRESS_H
#define PAGEK_COMMANDS_STRESS_H

#include "../../../capture/capture.h"
#include "../../../stress/stress.h"
#include "../../batch/batch.h"
#include "../../stress/stress.h"

/* --- heap stress (cmd_stress.c) ----------------------------------------------- */

bool stress_repeats(const struct options *);

/* A row of the table of levels. */
struct stress_level_row {
	char name[STRESS_TEXT], count[STRESS_TEXT], share[STRESS_TEXT];
	const char *meaning;
};
/* With its heading. */
void stress_put_levels(FILE *, const struct options *,
    const struct stress_level_row *, size_t n);

/* "14:05:30" */
void stress_clock_text(int64_t wall_ms, bool utc, char out[FIELD_CELL]);

/* Parses a moment of a part.  Returns PAGEK_OK, or the exit status after a complaint. */
int stress_capture_time(struct capture *, const char *path, uint32_t part,
    const char *text, int64_t *ms);

/* --- memory of the kernel itself (stress_tables.c) --------------------------- */

/* For `pagek stress`: --sites or --slab is given. */
bool stress_is_table(const struct options *);
/* The rules of these two and of the options that only they have. */
int stress_tables_check(struct parse *);
int stress_tables(const struct options *, uv_loop_t *);

/* --- levels of a target's own allocators (allocator_levels.c) ---------------- */

/* pagek stress --allocators. */
int stress_allocators(const struct options *, uv_loop_t *);

/* --- a sample of heap stress in a file (stress_baseline.c) ---------------------- */

struct stress_baseline {
	struct stress_sample sample;
	uint64_t reader;	/* of the node; 0: this process has read */
	int64_t wall_ms;
	char kernel[STRESS_KERNEL];
	char node[300];		/* "" none */
};

/* PAGEK_OK, or the status after a complaint; *there false: there is no such file. */
int stress_baseline_read(const char *path, struct stress_baseline *, bool *there);
int stress_baseline_write(const char *path, const struct stress_baseline *);
/*
 * The difference of the two; false: the totals have begun anew since, and *spent has
 * all of them.
 */
bool stress_baseline_spent(const struct stress_baseline *,
    const struct stress_baseline *now, struct stress_sample *spent);

#endif
