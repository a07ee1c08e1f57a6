/*
 * stages OBJECT: runs the programs of src/stress/ebpf/programs.c in the kernel, on
 * sequences of events that do not happen, and compares the levels that they count.
 * Exit status 77: the kernel refuses the programs here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../../src/stress/ebpf/ebpf.h"

#define WAITS 0x400ull		/* the bit of a request that may wait */

static struct bpf_object *object;
static struct ebpf_counts *counts;	/* of each processor */
static int processors;

/* An event: its program, and the arguments of the tracepoint. */
static const struct event {
	char letter;
	const char *program;
	unsigned long long args[4];	/* of a request: page, order, flags */
} events[] = {
	{ '(', "reclaim_begins", { 0 } },
	{ ')', "reclaim_ends", { 0 } },
	{ 'c', "compacts", { 0 } },
	{ 'k', "kills", { 0 } },
	{ 'w', "request_ends", { 4096, 0, WAITS, 0 } },
	{ 'i', "request_ends", { 4096, 0, 0, 0 } },
	{ 'f', "request_ends", { 0, 0, WAITS, 0 } },
	{ 'F', "request_ends", { 0, 9, WAITS, 0 } },
	{ 'n', "request_ends", { 0, 0, 0, 0 } },
	{ 'N', "request_ends", { 0, 9, 0, 0 } },
};

static const struct {
	const char *rule, *events;
	unsigned level[EBPF_LEVELS], failed[EBPF_FAILURES];
} rows[] = {
	{ "a request alone is of level 1", "w", { 1 }, { 0 } },
	{ "a request that has reclaimed is of level 4, the next one is not",
	    "()ww", { 1, 0, 0, 1 }, { 0 } },
	{ "a request that has compacted is of level 4", "cw", { 0, 0, 0, 1 }, { 0 } },
	{ "requests of reclaim itself do not end the stages", "(ww)w",
	    { 2, 0, 0, 1 }, { 0 } },
	{ "an interrupt's request does not end the stages", "(i)i",
	    { 2 }, { 0 } },
	{ "reclaim again is still level 4", "()()c()w", { 0, 0, 0, 1 }, { 0 } },
	{ "a request that has let a process be killed is of level 5", "()kw",
	    { 0, 0, 0, 0, 1 }, { 0 } },
	{ "a kill without reclaim is no level", "kw", { 1 }, { 0 } },
	{ "a failure without reclaim is of level 6", "f", { 0, 0, 0, 0, 0, 1 }, { 1 } },
	{ "a failure after reclaim is of level 6, the next request is not", "()fw",
	    { 1, 0, 0, 0, 0, 1 }, { 1 } },
	{ "failures are split by size, and by whether they could wait", "fFnNN",
	    { 0, 0, 0, 0, 0, 5 }, { 1, 1, 1, 2 } },
	{ "an interrupt's failure does not end the stages", "()nw",
	    { 0, 0, 0, 1, 0, 1 }, { 0, 0, 1 } },
};

/* Returns 0, or -1 after a message. */
static int
run(char letter)
{
	LIBBPF_OPTS(bpf_test_run_opts, o);
	const struct event *e = events;
	struct bpf_program *p;
	int err;

	while (e->letter != letter)
		e++;
	o.ctx_in = e->args;
	o.ctx_size_in = sizeof e->args;
	p = bpf_object__find_program_by_name(object, e->program);
	err = p == NULL ? -ENOENT :
	    bpf_prog_test_run_opts(bpf_program__fd(p), &o);
	if (err < 0)
		printf("FAIL: %s does not run: %s\n", e->program, strerror(-err));
	else if (o.retval != 1)
		printf("FAIL: %s returns %u, which may hide the event\n",
		    e->program, o.retval);
	return err < 0 || o.retval != 1 ? -1 : 0;
}

/* The sum of all processors: the test may run on any. */
static int
read_counts(struct ebpf_counts *sum)
{
	int map = bpf_object__find_map_fd_by_name(object, "counts");

	*sum = (struct ebpf_counts){ .missed = 0 };
	for (unsigned i = 0; i < (unsigned)processors; i++) {
		if (bpf_map_lookup_elem(map, &i, &counts[i]) < 0)
			return -1;
		for (int k = 0; k < EBPF_LEVELS; k++)
			sum->level[k] += counts[i].level[k];
		for (int k = 0; k < EBPF_FAILURES; k++)
			sum->failed[k] += counts[i].failed[k];
		sum->missed += counts[i].missed;
	}
	return 0;
}

static int
load(const char *path)
{
	struct ebpf_config config = { .may_wait = WAITS };
	struct bpf_map *m;

	processors = libbpf_num_possible_cpus();
	counts = calloc(processors > 0 ? (size_t)processors : 1, sizeof *counts);
	object = bpf_object__open(path);
	if (object == NULL || counts == NULL || processors <= 0)
		return -EINVAL;
	bpf_object__for_each_map(m, object) {
		if (strcmp(bpf_map__name(m), "counts") == 0)
			bpf_map__set_max_entries(m, (unsigned)processors);
		else if (strstr(bpf_map__name(m), ".rodata") != NULL)
			bpf_map__set_initial_value(m, &config, sizeof config);
	}
	return bpf_object__load(object);
}

/* Returns 1 if the rule is broken. */
static int
try_row(size_t i)
{
	struct ebpf_counts before, after;
	int bad = read_counts(&before) < 0;

	for (const char *e = rows[i].events; *e != '\0' && !bad; e++)
		bad = run(*e) < 0;
	bad = bad || read_counts(&after) < 0;
	for (int k = 0; k < EBPF_LEVELS && !bad; k++)
		bad = after.level[k] - before.level[k] != rows[i].level[k];
	for (int k = 0; k < EBPF_FAILURES && !bad; k++)
		bad = after.failed[k] - before.failed[k] != rows[i].failed[k];
	printf("%s: %s\n", bad ? "FAIL" : "ok", rows[i].rule);
	return bad;
}

int
main(int argc, char **argv)
{
	int err = argc == 2 ? load(argv[1]) : -EINVAL, bad = 0;

	if (err < 0) {
		fprintf(stderr, "the kernel refuses the programs: %s\n",
		    strerror(-err));
		return err == -EPERM || err == -EACCES ? 77 : 1;
	}
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		bad |= try_row(i);
	return bad;
}
