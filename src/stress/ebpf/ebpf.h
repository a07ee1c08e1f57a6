/*
 * ebpf: the six levels by programs in the kernel, on its tracepoints.
 *
 *	programs.c	the programs, compiled for the kernel's machine
 *	pagek-levels.c	loads them, with capabilities that pagek does not have
 *
 * ../ebpf.c starts pagek-levels and reads the counts, in pages that the kernel
 * writes. pagek-levels sends one message with their descriptor; it ends, and
 * the programs with it, when the other end of its descriptor 0 is closed.
 */
#ifndef STRESS_EBPF_H
#define STRESS_EBPF_H

#define EBPF_LEVELS 6
#define EBPF_FAILURES 4		/* in the order of enum stress_failure_kind */
#define EBPF_ZONES 64
#define EBPF_WHY 192

/* A zone of memory, from its first page on. */
struct ebpf_zone {
	unsigned long long from, to;	/* numbers of pages */
	unsigned int node, index;	/* of the zone within its node */
};

/* The programs have it when they are loaded. */
struct ebpf_config {
	unsigned int zones;		/* 0: watermarks are not looked at */
	unsigned int may_wait;		/* the bit of a request that may wait */
	struct ebpf_zone zone[EBPF_ZONES];
};

/* Each processor has its own, side by side in whole pages. */
struct ebpf_counts {
	unsigned long long level[EBPF_LEVELS];
	unsigned long long failed[EBPF_FAILURES];
	unsigned long long missed;	/* stages that found no place */
	unsigned long long pad[5];	/* two lines of the cache */
};

/* From pagek-levels. */
struct ebpf_reply {
	unsigned int processors;	/* 0: the programs do not run */
	unsigned int zones;		/* as in the configuration */
	char why[EBPF_WHY];		/* they do not run, or have no zones */
};

#endif
