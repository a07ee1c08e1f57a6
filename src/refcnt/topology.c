/*
 * A node's slots are its memory blocks, or without these the zones of
 * /proc/zoneinfo; those that meet are one.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "refcnt.h"

#define CPUS_MAX 65536u
#define HOMES_MAX 4096u
#define FILE_BYTES ((size_t)4 << 20)
#define SYS_NODE "sys/devices/system/node"

struct reading {
	struct refcnt_topology *t;
	const char *root;
	char *why;
	uint64_t block;		/* bytes of a memory block; 0: there are none */
	uint8_t cpu_is[CPUS_MAX], home_is[HOMES_MAX];
};

static int __attribute__((format(printf, 3, 4)))
fail(const struct reading *rd, int err, const char *fmt, ...)
{
	va_list ap;

	if (rd->why != NULL) {
		va_start(ap, fmt);
		vsnprintf(rd->why, REFCNT_WHY, fmt, ap);
		va_end(ap);
	}
	return err;
}

static int
read_file(const struct reading *rd, const char *name, char **text)
{
	char path[PATH_MAX];
	size_t len;
	int n = snprintf(path, sizeof path, "%s/%s", rd->root, name);

	if (n < 0 || (size_t)n >= sizeof path)
		return -ENAMETOOLONG;
	return base_file_read(path, FILE_BYTES, text, &len);
}

/* A decimal number below max; moves *at behind it. */
static bool
scan_number(const char **at, unsigned max, unsigned *out)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	n = strtoul(*at, &end, 10);
	if (errno != 0 || n >= max)
		return false;
	*at = end;
	*out = (unsigned)n;
	return true;
}

/*
 * "0-1,4" up to its end or a '/': calls for each number.  -EINVAL: other text,
 * an empty list; the call's error.
 */
static int
each_number(const char **at, unsigned max,
    int (*call)(struct reading *, unsigned, unsigned), struct reading *rd,
    unsigned arg)
{
	unsigned from, to;
	int err;

	do {
		if (!scan_number(at, max, &from))
			return -EINVAL;
		to = from;
		if (**at == '-' && (++*at, !scan_number(at, max, &to)))
			return -EINVAL;
		if (to < from)
			return -EINVAL;
		for (; from <= to; from++)
			if ((err = call(rd, from, arg)) < 0)
				return err;
	} while (**at == ',' && ++*at);
	return **at == '\0' || **at == '\n' || **at == '/' ? 0 : -EINVAL;
}

static int
note_number(struct reading *rd, unsigned no, unsigned is_home)
{
	unsigned *n = is_home ? &rd->t->homes : &rd->t->cpus;

	(is_home ? rd->home_is : rd->cpu_is)[no] = 1;
	if (*n <= no)
		*n = no + 1;
	return 0;
}

static int
put_cpu(struct reading *rd, unsigned cpu, unsigned node)
{
	if (cpu >= rd->t->cpus || !rd->cpu_is[cpu])
		return fail(rd, -EINVAL, "processor %u is not on this machine: "
		    "it has processors up to %u", cpu, rd->t->cpus - 1);
	if (rd->t->cpu[cpu] >= 0)
		return fail(rd, -EINVAL, "processor %u is named twice", cpu);
	rd->t->cpu[cpu] = (int32_t)node;
	return 0;
}

/* A file that has a list.  -ENOENT: no such file. */
static int
read_list(struct reading *rd, const char *name, unsigned max,
    int (*call)(struct reading *, unsigned, unsigned), unsigned arg)
{
	const char *at;
	char *text;
	int err = read_file(rd, name, &text);

	if (err < 0)
		return err == -ENOENT ? err : fail(rd, err, "cannot read '%s/%s': %s",
		    rd->root, name, strerror(-err));
	at = text;
	if (*at != '\n' && *at != '\0')
		err = each_number(&at, max, call, rd, arg);
	if (err == -EINVAL)
		err = fail(rd, -EBADMSG, "%s/%s is no list of numbers", rd->root,
		    name);
	free(text);
	return err;
}

static int
by_base(const void *a, const void *b)
{
	const struct refcnt_slot *x = a, *y = b;

	return (x->base > y->base) - (x->base < y->base);
}

static int
add_slot(struct refcnt_node *node, uint64_t base, uint64_t size)
{
	struct refcnt_slot *slot;

	if (size == 0)
		return 0;
	if (size > UINT64_MAX - base)
		return -EBADMSG;
	slot = reallocarray(node->slot, node->slots + 1, sizeof *slot);
	if (slot == NULL)
		return -ENOMEM;
	node->slot = slot;
	slot[node->slots++] = (struct refcnt_slot){ base, size };
	return 0;
}

static void
join_slots(struct refcnt_node *node)
{
	size_t n = 0;

	if (node->slots == 0)
		return;
	qsort(node->slot, node->slots, sizeof *node->slot, by_base);
	for (size_t i = 1; i < node->slots; i++) {
		struct refcnt_slot *last = &node->slot[n], *s = &node->slot[i];

		if (s->base > last->base + last->size)
			node->slot[++n] = *s;
		else if (s->base + s->size > last->base + last->size)
			last->size = s->base + s->size - last->base;
	}
	node->slots = n + 1;
	node->bytes = 0;
	for (size_t i = 0; i < node->slots; i++)
		node->bytes += node->slot[i].size;
}

static bool
is_offline(const struct reading *rd, unsigned home, unsigned block)
{
	char name[128], *text;
	bool offline;

	snprintf(name, sizeof name, SYS_NODE "/node%u/memory%u/state", home,
	    block);
	if (read_file(rd, name, &text) < 0)
		return false;
	offline = strncmp(text, "offline", 7) == 0;
	free(text);
	return offline;
}

/* The entries memoryN of the node's folder. */
static int
read_blocks(const struct reading *rd, unsigned home, struct refcnt_node *node)
{
	char path[PATH_MAX];
	struct dirent *e;
	int err = 0;
	DIR *dir;

	if (rd->block == 0)
		return 0;
	snprintf(path, sizeof path, "%s/" SYS_NODE "/node%u", rd->root, home);
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while (err == 0 && (e = readdir(dir)) != NULL) {
		const char *at = e->d_name + 6;
		unsigned no;

		if (strncmp(e->d_name, "memory", 6) != 0 ||
		    !scan_number(&at, UINT_MAX, &no) || *at != '\0' ||
		    is_offline(rd, home, no))
			continue;
		err = no > UINT64_MAX / rd->block - 1 ? -EBADMSG :
		    add_slot(node, no * rd->block, rd->block);
	}
	closedir(dir);
	return err;
}

/* A line of that key: "key  number", with or without ':' or "Node 0 " before it. */
static bool
scan_field(const char *line, const char *key, uint64_t *out)
{
	size_t len = strlen(key);
	char *end;

	line += strspn(line, " ");
	if (strncmp(line, key, len) != 0)
		return false;
	line += len;
	line += strspn(line, ": ");
	if (!isdigit((unsigned char)*line))
		return false;
	errno = 0;
	*out = strtoull(line, &end, 10);
	return errno == 0;
}

/* The line behind this one, or NULL. */
static char *
next_line(char *line)
{
	char *end = strchr(line, '\n');

	return end == NULL || end[1] == '\0' ? NULL : end + 1;
}

/* The zones of a node in /proc/zoneinfo: "spanned" and "start_pfn", in pages. */
static int
read_zones(const struct reading *rd, char *zones, unsigned home,
    struct refcnt_node *node)
{
	uint64_t spanned = 0, first;
	unsigned no, at_home = UINT_MAX;
	int err = 0;

	for (char *line = zones; line != NULL && err == 0;
	    line = next_line(line)) {
		if (sscanf(line, "Node %u, zone", &no) == 1) {
			at_home = no;
			spanned = 0;
		} else if (at_home != home ||
		    scan_field(line, "spanned", &spanned)) {
			continue;
		} else if (scan_field(line, "start_pfn", &first)) {
			err = first > UINT64_MAX / rd->t->base_page ||
			    spanned > UINT64_MAX / rd->t->base_page ? -EBADMSG :
			    add_slot(node, first * rd->t->base_page,
			    spanned * rd->t->base_page);
		}
	}
	return err;
}

static uint64_t
read_total(const struct reading *rd, const char *name, const char *before)
{
	uint64_t kib = 0;
	char *text;

	if (read_file(rd, name, &text) < 0)
		return 0;
	for (char *line = text; line != NULL; line = next_line(line)) {
		if (strncmp(line, before, strlen(before)) == 0 &&
		    scan_field(line + strlen(before), "MemTotal", &kib))
			break;
	}
	free(text);
	return kib > UINT64_MAX / 1024 ? 0 : kib * 1024;
}

static int
read_memory(const struct reading *rd, char *zones, unsigned home,
    struct refcnt_node *node)
{
	char name[128], before[32];
	int err;

	snprintf(name, sizeof name, SYS_NODE "/node%u/meminfo", home);
	snprintf(before, sizeof before, "Node %u ", home);
	node->bytes = read_total(rd, name, before);
	err = read_blocks(rd, home, node);
	if (err == 0 && node->slots == 0 && zones != NULL)
		err = read_zones(rd, zones, home, node);
	if (err == -EBADMSG)
		return fail(rd, err, "node %u has memory beyond 2^64", home);
	if (err < 0)
		return fail(rd, err, "cannot read node %u: %s", home,
		    strerror(-err));
	join_slots(node);
	return 0;
}

static int
make_maps(struct refcnt_topology *t)
{
	t->cpu = malloc((t->cpus + 1) * sizeof *t->cpu);
	t->home = malloc((t->homes + 1) * sizeof *t->home);
	if (t->cpu == NULL || t->home == NULL)
		return -ENOMEM;
	memset(t->cpu, 0xff, (t->cpus + 1) * sizeof *t->cpu);
	memset(t->home, 0xff, (t->homes + 1) * sizeof *t->home);
	return 0;
}

static int
find_nodes(struct reading *rd)
{
	struct refcnt_topology *t = rd->t;
	int err = read_list(rd, "sys/devices/system/cpu/possible", CPUS_MAX,
	    note_number, false);

	if (err == -ENOENT)
		err = 0;
	if (err == 0 && t->cpus == 0) {
		long n = sysconf(_SC_NPROCESSORS_CONF);

		for (unsigned i = 0; i < CPUS_MAX && (i == 0 || (long)i < n); i++)
			note_number(rd, i, false);
	}
	if (err == 0)
		err = read_list(rd, SYS_NODE "/online", HOMES_MAX, note_number, true);
	if (err == -ENOENT)
		err = 0;
	if (err == 0 && t->homes == 0)
		note_number(rd, 0, true);
	return err < 0 ? err : make_maps(t);
}

static int
take_kernels_nodes(struct reading *rd)
{
	struct refcnt_topology *t = rd->t;

	for (unsigned home = 0; home < t->homes; home++) {
		char name[128];
		int err;

		if (!rd->home_is[home])
			continue;
		if (t->nodes == REFCNT_NODES)
			return fail(rd, -E2BIG, "more than %d nodes are online",
			    REFCNT_NODES);
		snprintf(t->node[t->nodes].name, REFCNT_NAME, "node%u", home);
		t->home[home] = (int32_t)t->nodes;
		snprintf(name, sizeof name, SYS_NODE "/node%u/cpulist", home);
		err = read_list(rd, name, t->cpus, put_cpu, t->nodes);
		if (err < 0 && err != -ENOENT)
			return err;
		t->nodes++;
	}
	/* Without the kernel's nodes one has all processors. */
	for (unsigned cpu = 0; t->nodes == 1 && cpu < t->cpus; cpu++)
		if (rd->cpu_is[cpu])
			t->cpu[cpu] = 0;
	return 0;
}

static int
start_group(struct reading *rd, const char *what, int len)
{
	struct refcnt_topology *t = rd->t;

	if (t->nodes == REFCNT_NODES)
		return fail(rd, -E2BIG, "more than %d groups of processors",
		    REFCNT_NODES);
	snprintf(t->node[t->nodes++].name, REFCNT_NAME, "cpus %.*s", len, what);
	return 0;
}

static int
take_processors(struct reading *rd)
{
	struct refcnt_topology *t = rd->t;
	int err = 0;

	for (unsigned cpu = 0; err == 0 && cpu < t->cpus; cpu++) {
		char text[16];

		if (!rd->cpu_is[cpu])
			continue;
		snprintf(text, sizeof text, "%u", cpu);
		err = start_group(rd, text, INT_MAX);
		t->cpu[cpu] = (int32_t)t->nodes - 1;
	}
	return err;
}

/* One more group has the processors that no other one has. */
static int
take_others(struct reading *rd)
{
	struct refcnt_topology *t = rd->t;
	int32_t others = -1;

	for (unsigned cpu = 0; cpu < t->cpus; cpu++) {
		if (!rd->cpu_is[cpu] || t->cpu[cpu] >= 0)
			continue;
		if (others < 0) {
			int err = start_group(rd, "not named", INT_MAX);

			if (err < 0)
				return err;
			others = (int32_t)t->nodes - 1;
		}
		t->cpu[cpu] = others;
	}
	return 0;
}

static int
take_groups(struct reading *rd, const char *groups)
{
	const char *at = groups;
	int err;

	if (rd->why != NULL)
		rd->why[0] = '\0';
	do {
		const char *from = at;

		err = start_group(rd, from, (int)strcspn(from, "/"));
		if (err == 0)
			err = each_number(&at, CPUS_MAX, put_cpu, rd,
			    rd->t->nodes - 1);
		if (err == 0 && *at == '\n')
			err = -EINVAL;
	} while (err == 0 && *at == '/' && ++at);
	if (err == -EINVAL && rd->why != NULL && rd->why[0] == '\0')
		return fail(rd, err, "'%s' does not name groups of processors: "
		    "write 'cpu', or lists as 0-1,4/2,3", base_shown(groups));
	return err < 0 ? err : take_others(rd);
}

static int
note_least(struct reading *rd, unsigned cpu, unsigned home)
{
	(void)home;
	if (cpu < rd->t->cpus && rd->t->home[rd->t->homes] < 0)
		rd->t->home[rd->t->homes] = rd->t->cpu[cpu];
	return 0;
}

/* The kernel's nodes lie on the groups of their first processors, or on the first. */
static int
map_homes(struct reading *rd)
{
	struct refcnt_topology *t = rd->t;

	for (unsigned home = 0; home < t->homes; home++) {
		char name[128];
		int err;

		if (!rd->home_is[home])
			continue;
		t->home[t->homes] = -1;
		snprintf(name, sizeof name, SYS_NODE "/node%u/cpulist", home);
		err = read_list(rd, name, CPUS_MAX, note_least, home);
		if (err < 0 && err != -ENOENT)
			return err;
		t->home[home] = t->home[t->homes] < 0 ? 0 : t->home[t->homes];
	}
	return 0;
}

static int
add_memory(struct refcnt_node *to, struct refcnt_node *from)
{
	uint64_t bytes = to->bytes + from->bytes;
	int err = 0;

	for (size_t i = 0; err == 0 && i < from->slots; i++)
		err = add_slot(to, from->slot[i].base, from->slot[i].size);
	join_slots(to);
	if (to->slots == 0)
		to->bytes = bytes;
	free(from->slot);
	return err;
}

static int
take_memory(struct reading *rd)
{
	struct refcnt_topology *t = rd->t;
	char *text, *zones = NULL;
	int err = 0;

	if (read_file(rd, "sys/devices/system/memory/block_size_bytes",
	    &text) == 0) {
		rd->block = strtoull(text, NULL, 16);
		free(text);
	}
	if (read_file(rd, "proc/zoneinfo", &text) == 0)
		zones = text;
	for (unsigned home = 0; err == 0 && home < t->homes; home++) {
		struct refcnt_node node = { .bytes = 0 };

		if (!rd->home_is[home])
			continue;
		err = read_memory(rd, zones, home, &node);
		if (err == 0)
			err = add_memory(&t->node[t->home[home]], &node);
		else
			free(node.slot);
	}
	free(zones);
	if (err == 0 && t->homes == 1 && t->node[t->home[0]].bytes == 0)
		t->node[t->home[0]].bytes = read_total(rd, "proc/meminfo", "");
	return err;
}

/* Without it every file would be missing, as on a machine of one node. */
static int
find_root(const struct reading *rd)
{
	int fd = open(rd->root, O_PATH | O_DIRECTORY | O_CLOEXEC), err = -errno;

	if (fd == -1)
		return fail(rd, err, "cannot open the folder %s: %s", rd->root,
		    strerror(-err));
	close(fd);
	return 0;
}

int
refcnt_topology_read(struct refcnt_topology **out, const char *root,
    const char *groups, char why[REFCNT_WHY])
{
	struct reading *rd = calloc(1, sizeof *rd);
	struct refcnt_topology *t = calloc(1, sizeof *t);
	int err = -ENOMEM;

	if (why != NULL)
		snprintf(why, REFCNT_WHY, "no memory for the topology");
	if (rd == NULL || t == NULL)
		goto done;
	rd->t = t;
	rd->root = root;
	rd->why = why;
	t->groups = groups != NULL;
	t->base_page = (uint32_t)sysconf(_SC_PAGESIZE);
	err = find_root(rd);
	if (err == 0)
		err = find_nodes(rd);
	if (err == 0)
		err = groups == NULL ? take_kernels_nodes(rd) :
		    strcmp(groups, "cpu") == 0 ? take_processors(rd) :
		    take_groups(rd, groups);
	if (err == 0 && groups != NULL)
		err = map_homes(rd);
	if (err == 0)
		err = take_memory(rd);
	if (err == 0) {
		*out = t;
		t = NULL;
		if (why != NULL)
			why[0] = '\0';
	}
done:
	refcnt_topology_free(t);
	free(rd);
	return err;
}

void
refcnt_topology_free(struct refcnt_topology *t)
{
	if (t == NULL)
		return;
	for (unsigned i = 0; i < REFCNT_NODES; i++)
		free(t->node[i].slot);
	free(t->cpu);
	free(t->home);
	free(t);
}

int32_t
refcnt_node_of_cpu(const struct refcnt_topology *t, unsigned cpu)
{
	return cpu < t->cpus ? t->cpu[cpu] : -1;
}

int32_t
refcnt_home_of(const struct refcnt_topology *t, int node)
{
	return node >= 0 && (unsigned)node < t->homes ? t->home[node] : -1;
}

void
refcnt_config_of(const struct refcnt_topology *t, unsigned node,
    struct refcnt_config *c)
{
	const struct refcnt_node *n = &t->node[node];
	unsigned counters = t->nodes <= REFCNT_COUNTERS ? t->nodes :
	    (t->nodes + 7) / 8;

	*c = (struct refcnt_config){ .name = n->name, .bytes = n->bytes,
	    .hw_pages = n->bytes / REFCNT_PAGE, .sets = n->bytes / REFCNT_PAGE,
	    .counters = n->bytes / REFCNT_PAGE * counters,
	    .base_pages = n->bytes / t->base_page, .slots = n->slots };
	for (unsigned cpu = 0; cpu < t->cpus; cpu++)
		c->cpus += refcnt_node_of_cpu(t, cpu) == (int32_t)node;
}
