/* Writes the corpus of fuzz_refcnt: files of a target, of a machine, and broken ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/base/base.h"
#include "../../src/refcnt/rcb.h"
#include "../../src/refcnt/refcnt.h"

static char why[REFCNT_WHY];

static void
must(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "seed_refcnt: %s: %s\n", what, strerror(-err));
	exit(EXIT_FAILURE);
}

/* The file of node 0, with a word of it changed. */
static void
save(const char *folder, const char *name, const char *from, size_t at,
    uint32_t word)
{
	char path[4096];
	char *bytes;
	size_t len;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	must(base_file_read(from, 1 << 20, &bytes, &len), from);
	if (at > 0)
		base_put_le((uint8_t *)bytes + at, word, 4);
	must(base_file_replace(path, bytes, len, 0644), path);
	free(bytes);
}

static void
write_known(struct refcnt_table **t, struct refcnt_topology *topology,
    const char *folder, long pid)
{
	struct refcnt_table_options o = { .folder = folder, .pid = pid,
	    .topology = topology, .diff_threshold = 100, .abs_threshold = 1000 };
	uint64_t base = pid == 0 ? 64 << 20 : 0x40000;
	struct refcnt *r;

	must(refcnt_new(&r, topology->nodes, REFCNT_STANDARD), "counters");
	must(refcnt_enable(r, base, 2 * REFCNT_PAGE, REFCNT_IMPORT, 1), "range");
	must(refcnt_enable(r, base + 16 * REFCNT_PAGE, 1, REFCNT_REFS, 1), "range");
	refcnt_count(r, base, 0, 5000, 7, 2);
	refcnt_count(r, base + REFCNT_PAGE, topology->nodes - 1,
	    UINT64_C(1) << 33, 0, 2);
	refcnt_count(r, base + 16 * REFCNT_PAGE, 0, 1, 0, 2);
	must(refcnt_table_new(t, &o), "table");
	must(refcnt_table_write(*t, r, why), why);
	refcnt_free(r);
}

int
main(int argc, char **argv)
{
	static struct refcnt_topology topology = { .base_page = 4096 };
	struct refcnt_slot slots[2] = { { 1 << 20, 1 << 20 },
	    { 64 << 20, 1 << 20 } };
	char folder[] = "/tmp/seed_refcnt.XXXXXX", path[4096];
	struct refcnt_table *t;

	if (argc < 2 || mkdtemp(folder) == NULL)
		return EXIT_FAILURE;
	snprintf(path, sizeof path, "%s/x", argv[1]);
	must(base_folders_above(path), path);
	topology.nodes = 2;
	write_known(&t, &topology, folder, 4711);
	snprintf(path, sizeof path, "%s/4711/refcnt.node0", folder);
	save(argv[1], "target", path, 0, 0);
	save(argv[1], "version", path, RCB_AT_VERSION, 2);
	save(argv[1], "sets", path, RCB_AT_SETS, 0x7fffffff);
	save(argv[1], "counters", path, RCB_AT_COUNTERS_PER_SET, 64);
	save(argv[1], "slot", path, RCB_PAGE, 0xfffff000);
	save(argv[1], "hardware", path, rcb_lay_out(19, 2, 2).at[RCB_HARDWARE],
	    0x800);
	refcnt_table_free(t);
	topology.nodes = 66;
	topology.node[0].slot = slots;
	topology.node[0].slots = 2;
	write_known(&t, &topology, folder, 0);
	snprintf(path, sizeof path, "%s/refcnt.node0", folder);
	save(argv[1], "machine", path, 0, 0);
	refcnt_table_free(t);
	rmdir(folder);
	return EXIT_SUCCESS;
}
