/*
 * hottest: the pages with most references, from the files of a node that map their
 * counters.
 *
 *	cc hottest.c $(pkg-config --cflags --libs pagek-refcnt)
 *	hottest $XDG_RUNTIME_DIR/pagek/refcnt/PID/refcnt.node*
 */
#include <inttypes.h>
#include <pk_refcnt.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 20

struct row {
	uint64_t addr, total;
	int ended;		/* the last count of a node that has ended */
	pk_refcnt_buf_t page;
	pk_refcnt_wide_t count;
};

/* In order of references; row[n - 1] is the coldest. */
static int
keep_hottest(struct row row[ROWS], int n, const struct row *r)
{
	int at = n < ROWS ? n : ROWS;

	while (at > 0 && row[at - 1].total < r->total) {
		if (at < ROWS)
			row[at] = row[at - 1];
		at--;
	}
	if (at == ROWS)
		return n;
	row[at] = *r;
	return n < ROWS ? n + 1 : n;
}

static int
read_file(const char *path, struct row row[ROWS], int *n, int *counters)
{
	pk_rcb_info_t info;
	struct row r;
	pk_rcb *rcb;
	int err = pk_rcb_map(&rcb, path);

	if (err < 0)
		return err;
	pk_rcb_info(rcb, &info);
	printf("%s: node %d, %d counters a set%s\n", path, info.rcb_cnodeid,
	    info.rcb_sw_counters_per_set, info.ended ?
	    ": the node has ended, these are its last counts" : "");
	if (*counters < info.rcb_sw_counters_per_set)
		*counters = info.rcb_sw_counters_per_set;
	for (int set = pk_rcb_next(rcb, 0); set >= 0 && err == 0;
	    set = pk_rcb_next(rcb, set + 1)) {
		err = pk_rcb_get(rcb, set, PK_REFCNT_EXT, &r.page);
		if (err == 0)
			err = pk_rcb_get_wide(rcb, set, &r.count);
		r.addr = pk_rcb_addr(rcb, set);
		r.ended = info.ended;
		r.total = 0;
		for (int i = 0; err == 0 && i < info.rcb_sw_counters_per_set; i++)
			r.total += r.count.refcnt[i];
		if (err == 0)
			*n = keep_hottest(row, *n, &r);
	}
	pk_rcb_unmap(rcb);
	return err;
}

int
main(int argc, char **argv)
{
	static struct row row[ROWS];
	int n = 0, counters = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: hottest FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		if (read_file(argv[i], row, &n, &counters) < 0) {
			fprintf(stderr, "hottest: %s\n", pk_refcnt_why());
			return 1;
		}
	printf("%18s  home  unit  references by node\n", "page");
	for (int i = 0; i < n; i++) {
		uint64_t flags = row[i].count.flags;

		printf("%#18" PRIx64 "  %4" PRId32 "  %s ", row[i].addr,
		    row[i].page.cnodeid,
		    flags & PK_REFCNT_SAMPLED ? "smpl" : "refs");
		for (int k = 0; k < counters; k++)
			printf(" %" PRIu64, row[i].count.refcnt[k]);
		printf("%s%s%s\n", flags & PK_REFCNT_NO_NODE ? " of any node" : "",
		    flags & PK_REFCNT_COARSE ? " coarse" : "",
		    row[i].ended ? " ended" : "");
	}
	return 0;
}
