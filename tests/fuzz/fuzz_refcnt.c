/*
 * fuzz_refcnt: any bytes as a file refcnt.nodeN; and the same with checksums that are
 * right, so that damage comes further.
 *
 * Claims: a file is refused with a sentence, or its sets have the addresses of its
 * slots; a set is refused, or has no counter above its plane's maximum; a page that is
 * not counted has no counts.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#include "../../src/refcnt/pk_refcnt.h"
#include "../../src/refcnt/rcb.h"
#include "fuzz.h"

#define BYTES_MAX (1u << 20)
#define SETS 4096

static void
read_set(const pk_rcb *r, const pk_rcb_info_t *info, int set)
{
	pk_refcnt_buf_t hw, ext;
	pk_refcnt_wide_t wide;

	claim(pk_rcb_index(r, pk_rcb_addr(r, set)) == set, "a set has an address");
	if (pk_rcb_get(r, set, PK_REFCNT_HW, &hw) < 0 ||
	    pk_rcb_get(r, set, PK_REFCNT_EXT, &ext) < 0 ||
	    pk_rcb_get_wide(r, set, &wide) < 0) {
		claim(pk_refcnt_why()[0] != '\0', "an error has a sentence");
		return;
	}
	for (int i = 0; i < PK_REFCNT_MAX_COUNTERS; i++) {
		bool is = (ext.refcnt_set.flags & PK_REFCNT_VALID) != 0 &&
		    i < info->rcb_sw_counters_per_set;

		claim(hw.refcnt_set.refcnt[i] <= info->rcb_hw_counter_max,
		    "a hardware counter is within its width");
		claim(is || (hw.refcnt_set.refcnt[i] == 0 &&
		    ext.refcnt_set.refcnt[i] == 0 && wide.refcnt[i] == 0),
		    "a page that is not counted has no counts");
		claim((uint64_t)hw.refcnt_set.refcnt[i] +
		    ext.refcnt_set.refcnt[i] <= wide.refcnt[i],
		    "no plane has more than the widest one");
	}
}

static void
read_file(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("fuzz_refcnt", MFD_CLOEXEC);
	pk_rcb_info_t info;
	char path[64];
	pk_rcb *r;

	claim(fd >= 0 && write(fd, bytes, len) == (ssize_t)len, "memory");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (pk_rcb_map(&r, path) == 0) {
		pk_rcb_info(r, &info);
		for (int set = 0; set < info.rcb_sw_sets && set < SETS; set++)
			read_set(r, &info, set);
		for (int set = pk_rcb_next(r, 0), n = 0; set >= 0 && n < SETS;
		    n++) {
			int next = pk_rcb_next(r, set + 1);

			claim(next < 0 || next > set, "sets come in order");
			set = next;
		}
		pk_rcb_unmap(r);
	} else {
		claim(pk_refcnt_why()[0] != '\0', "an error has a sentence");
	}
	close(fd);
}

/* Sets the checksums of all that lies within the bytes. */
static void
repair(uint8_t *b, size_t len)
{
	uint32_t sets = rcb_load(b + RCB_AT_SETS), slots = rcb_load(b + RCB_AT_SLOTS);
	uint32_t counters = rcb_load(b + RCB_AT_COUNTERS_PER_SET);
	struct rcb_layout l = rcb_lay_out(sets, counters, slots);

	if (counters > RCB_COUNTERS || l.len > len)
		return;
	rcb_store(b + RCB_AT_CHECK, rcb_head_check(b, slots));
	for (uint32_t set = 0; set < sets; set++) {
		struct rcb_set s = { .state = rcb_load(b + l.at[RCB_STATES] +
		    4 * (uint64_t)set) };

		for (uint32_t i = 0; i < counters; i++) {
			uint64_t no = (uint64_t)set * counters + i;

			s.ext[i] = rcb_load(b + l.at[RCB_COUNTERS_PART] + 4 * no);
			s.hw[i] = rcb_load(b + l.at[RCB_HARDWARE] + 4 * no);
			s.wide[i] = rcb_load64(b + l.at[RCB_WIDE] + 8 * no);
		}
		rcb_store(b + l.at[RCB_CHECKS] + 4 * (uint64_t)set,
		    s.state == 0 ? 0 : rcb_check_of(set, &s, counters));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	uint8_t *copy;

	if (len > BYTES_MAX)
		return 0;
	read_file(bytes, len);
	if (len < RCB_PAGE)
		return 0;
	copy = aligned_alloc(RCB_PAGE, rcb_pages(len));
	claim(copy != NULL, "memory");
	memcpy(copy, bytes, len);
	repair(copy, len);
	read_file(copy, len);
	free(copy);
	return 0;
}
