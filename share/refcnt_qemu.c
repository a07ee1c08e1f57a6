/*
 * refcnt_qemu: counts each load and store of a program, by page, for
 * `pagek refcnt --import`.  A plugin of QEMU in user mode:
 *
 *	cc -O2 -shared -fPIC -o refcnt_qemu.so refcnt_qemu.c
 *	qemu-x86_64 -plugin ./refcnt_qemu.so,out=counts ./program
 *
 * The output has a line for each page and thread: the page's address in
 * hexadecimal, the number of the thread from 0, reads and writes:
 *
 *	4000801000 0 1000 101
 *
 * An access that crosses a page's end is one of each page.  An atomic instruction
 * that reads and writes counts as a write.  A child of fork(2) writes a file of its
 * own, with its process number behind the name.
 *
 * QEMU's header is not needed: what is used of it stands below.  QEMU before 8.2
 * takes version 1 of its interface, later ones -DPLUGIN_VERSION=2 and above.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif
#define EXPORT __attribute__((visibility("default")))

/* --- qemu-plugin.h ----------------------------------------------------------- */

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
    void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *,
    size_t);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
    void (*)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *),
    enum qemu_plugin_cb_flags, enum qemu_plugin_mem_rw, void *);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t,
    void (*)(qemu_plugin_id_t, void *), void *);

EXPORT int qemu_plugin_version = PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t, const void *, int, char **);

/* --- counts ------------------------------------------------------------------ */

#define PAGE 4096
#define CPUS 4096
#define FIRST_SLOTS 1024

struct count {
	uint64_t page;		/* plus 1; 0: a free slot */
	uint64_t reads, writes;
};

/* Each thread has its own: no lock. */
struct table {
	struct count *slot;
	size_t slots, used;	/* slots: a power of two */
	struct count *last;
};

static struct table *tables[CPUS];
static uint64_t lost;		/* accesses without memory for their count */
static char *path;
static pid_t first;

static struct count *
find_slot(const struct table *t, uint64_t page)
{
	size_t i = (page / PAGE * UINT64_C(0x9e3779b97f4a7c15)) >> 20;

	for (;; i++) {
		struct count *c = &t->slot[i & (t->slots - 1)];

		if (c->page == 0 || c->page == page + 1)
			return c;
	}
}

static bool
grow(struct table *t)
{
	struct table bigger = { .slots = t->slots ? t->slots * 2 : FIRST_SLOTS };

	bigger.slot = calloc(bigger.slots, sizeof *bigger.slot);
	if (bigger.slot == NULL)
		return false;
	for (size_t i = 0; i < t->slots; i++)
		if (t->slot[i].page != 0)
			*find_slot(&bigger, t->slot[i].page - 1) = t->slot[i];
	bigger.used = t->used;
	free(t->slot);
	*t = bigger;
	return true;
}

static struct count *
count_of(unsigned cpu, uint64_t page)
{
	struct table *t = cpu < CPUS ? tables[cpu] : NULL;
	struct count *c;

	if (t == NULL) {
		if (cpu >= CPUS || (t = calloc(1, sizeof *t)) == NULL)
			return NULL;
		tables[cpu] = t;
	}
	if (t->last != NULL && t->last->page == page + 1)
		return t->last;
	if (2 * t->used >= t->slots && !grow(t))
		return NULL;
	c = find_slot(t, page);
	if (c->page == 0) {
		c->page = page + 1;
		t->used++;
	}
	return t->last = c;
}

static void
on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t addr, void *arg)
{
	uint64_t end = addr + (UINT64_C(1) << qemu_plugin_mem_size_shift(info));
	bool store = qemu_plugin_mem_is_store(info);

	(void)arg;
	for (uint64_t page = addr & ~(uint64_t)(PAGE - 1); page < end;
	    page += PAGE) {
		struct count *c = count_of(cpu, page);

		if (c == NULL)
			__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
		else if (store)
			c->writes++;
		else
			c->reads++;
	}
}

static void
on_code(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i),
		    on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
}

static FILE *
open_output(void)
{
	char name[4096];

	if (getpid() == first)
		return fopen(path, "we");
	snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
	return fopen(name, "we");
}

static void
on_exit_of_all(qemu_plugin_id_t id, void *arg)
{
	FILE *f = open_output();

	(void)id;
	(void)arg;
	if (f == NULL) {
		fprintf(stderr, "refcnt_qemu: cannot write %s\n", path);
		return;
	}
	fprintf(f, "# page, thread, reads, writes\n");
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		for (size_t i = 0; tables[cpu] != NULL && i < tables[cpu]->slots;
		    i++) {
			const struct count *c = &tables[cpu]->slot[i];

			if (c->page != 0)
				fprintf(f, "%" PRIx64 " %u %" PRIu64 " %" PRIu64
				    "\n", c->page - 1, cpu, c->reads, c->writes);
		}
	/* No line that can be read: the reader is to complain. */
	if (lost != 0)
		fprintf(f, "lost %" PRIu64 "\n", lost);
	if (fclose(f) != 0)
		fprintf(stderr, "refcnt_qemu: cannot write %s\n", path);
}

int
qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "out=", 4) == 0)
			path = strdup(argv[i] + 4);
	if (path == NULL) {
		fprintf(stderr, "refcnt_qemu: no file given; use "
		    "-plugin refcnt_qemu.so,out=FILE\n");
		return -1;
	}
	first = getpid();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_code);
	qemu_plugin_register_atexit_cb(id, on_exit_of_all, NULL);
	return 0;
}
