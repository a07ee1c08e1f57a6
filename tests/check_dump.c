/*
 * Dumps of targets of both word sizes and byte orders are read as they were
 * written; damaged ones keep what could be read, and say where they break.
 */
#include <elf.h>
#include <errno.h>

#include "dump_rig.h"

#define ALL_OPTIONS (MDD_OPT_ACTUAL_SIZE | MDD_OPT_TIMESTAMP | \
	MDD_OPT_THREAD | MDD_OPT_HISTORY)

static struct rig *rig;
static struct dump d;

static void
stop(void)
{
	dump_fini(&d);
	free(rig);
	rig = NULL;
}

static void
start_rig(int kind, unsigned options, unsigned levels)
{
	rig = rig_new(kind & 1 ? 8 : 4, (kind & 2) != 0, options, levels);
}

static void
read_rig(void)
{
	/* A sanitizer sees a byte read beyond it only at the end of a block. */
	uint8_t *exact = malloc(rig->len > 0 ? rig->len : 1);

	ck_assert_ptr_nonnull(exact);
	memcpy(exact, rig->bytes, rig->len);
	ck_assert_int_eq(dump_read(&d, "mddout.0", exact, rig->len), 0);
	free(exact);
}

static struct dump_moment
moment(uint32_t seqno, uint32_t function)
{
	struct dump_moment m = { .time = UINT64_C(0x100000002) + seqno,
		.seqno = seqno, .thread = seqno % 3, .function = function };

	for (unsigned i = 0; i < rig->levels; i++)
		m.stack[i] = 0x8000 + 16 * seqno + i;
	if ((rig->options & MDD_OPT_TIMESTAMP) == 0)
		m.time = 0;
	if ((rig->options & MDD_OPT_THREAD) == 0)
		m.thread = 0;
	return m;
}

static struct dump_record
block(uint32_t seqno)
{
	return (struct dump_record){ .address = 0x10000 + 64 * seqno,
		.size = seqno + 1, .actual = rig->options &
		    MDD_OPT_ACTUAL_SIZE ? seqno + 9 : 0,
		.alloc = moment(seqno, 1 + seqno % 12) };
}

/* n blocks with the numbers from 0 on, then as many past ones. */
static void
fill(unsigned n, unsigned pasts)
{
	rig_thread(rig, "main", 0x1000);
	rig_thread(rig, "worker", 0x2000);
	for (unsigned i = 0; i < n; i++) {
		struct dump_record b = block(i);

		rig_block(rig, &b);
	}
	for (unsigned i = 0; i < pasts; i++) {
		struct dump_record b = block(n + 2 * i);
		struct dump_moment m = moment(n + 2 * i + 1, MDD_FREE);

		rig_past(rig, &b, &m);
	}
	rig->seqno = n + 2 * pasts;
}

static bool
same_moment(const struct dump_moment *a, const struct dump_moment *b)
{
	return a->time == b->time && a->seqno == b->seqno &&
	    a->thread == b->thread && a->function == b->function &&
	    memcmp(a->stack, b->stack, sizeof a->stack) == 0;
}

static void
has_all(void)
{
	ck_assert_uint_eq(d.nrecords, rig->blocks);
	for (size_t i = 0; i < rig->blocks; i++) {
		ck_assert_uint_eq(d.record[i].address, rig->block[i].address);
		ck_assert_uint_eq(d.record[i].size, rig->block[i].size);
		ck_assert_uint_eq(d.record[i].actual, rig->block[i].actual);
		ck_assert(same_moment(&d.record[i].alloc, &rig->block[i].alloc));
		ck_assert(!d.record[i].unsure);
	}
	ck_assert_uint_eq(d.npast, rig->pasts);
	for (size_t i = 0; i < rig->pasts; i++) {
		ck_assert_uint_eq(d.past[i].block.address,
		    rig->past[i].block.address);
		ck_assert(same_moment(&d.past[i].block.alloc,
		    &rig->past[i].block.alloc));
		ck_assert(same_moment(&d.past[i].free, &rig->past[i].free));
	}
}

static void
breaks(const char *words)
{
	for (size_t i = 0; i < d.nproblems && i < DUMP_PROBLEMS; i++)
		if (strstr(d.problem[i], words) != NULL)
			return;
	ck_abort_msg("no problem says '%s'; the first is '%s'", words,
	    d.nproblems > 0 ? d.problem[0] : "");
}

/* --- sound dumps ------------------------------------------------------------ */

CASE("sound", .teardown = stop, .seconds = 60);

LOOP_TEST(each_field_is_read_with_each_option, 0, 4 * 16)
{
	static const unsigned options[] = { MDD_OPT_ACTUAL_SIZE,
		MDD_OPT_TIMESTAMP, MDD_OPT_THREAD, MDD_OPT_HISTORY };
	unsigned given = 0;

	for (unsigned i = 0; i < 4; i++)
		given |= _i >> 2 & 1 << i ? options[i] : 0;
	for (unsigned levels = 0; levels <= MDD_LEVELS; levels += 4) {
		start_rig(_i & 3, given, levels);
		fill(70, given & MDD_OPT_HISTORY ? 9 : 0);
		rig_end(rig);
		read_rig();
		ck_assert_msg(d.nproblems == 0, "%s", d.problem[0]);
		has_all();
		ck_assert_uint_eq(d.source.word_bytes, rig->word);
		ck_assert(d.source.big_endian == rig->big);
		ck_assert_uint_eq(d.source.levels, levels);
		ck_assert_uint_eq(d.nthreads, given & MDD_OPT_THREAD ? 2 : 0);
		stop();
	}
}

LOOP_TEST(counters_and_threads_are_read, 0, 4)
{
	struct dump_totals t;

	start_rig(_i, ALL_OPTIONS, 1);
	rig->info = "maker test\nnumber 3\ntime 2026-11-27T12:00:00Z\n"
	    "reset yes\nprogram /bin/consume\nodd\n";
	fill(5, 4);
	rig->missed = 6;
	rig_end(rig);
	read_rig();
	ck_assert_uint_eq(d.counts.seqno, 13);
	ck_assert_uint_eq(d.counts.allocs, 9);
	ck_assert_uint_eq(d.counts.frees, 4);
	ck_assert_uint_eq(d.counts.missed, 6);
	ck_assert_uint_eq(d.counts.static_bytes, 5000);
	ck_assert_uint_eq(d.counts.dynamic_bytes, 3000);
	ck_assert_str_eq(dump_thread(&d, 2)->name, "worker");
	ck_assert_uint_eq(dump_thread(&d, 2)->handle, 0x2000);
	ck_assert_ptr_null(dump_thread(&d, 0));
	ck_assert_ptr_null(dump_thread(&d, 3));
	ck_assert_str_eq(d.info.program, "/bin/consume");
	ck_assert(d.info.reset && d.info.numbered && d.info.number == 3);
	ck_assert(d.firmware);
	dump_sum(&d, &t);
	ck_assert_uint_eq(t.blocks, 5);
	ck_assert_uint_eq(t.bytes, 1 + 2 + 3 + 4 + 5);
	ck_assert_uint_eq(t.actual, 5 * 8 + 15);
	ck_assert_uint_eq(t.by_function[MDD_MALLOC], 1);
}

/* Records of 16 and 64 bytes with 4-byte words, 24 and 112 with 8. */
LOOP_TEST(records_have_the_sizes_of_the_manual, 0, 4)
{
	start_rig(_i, 0, 0);
	ck_assert_uint_eq(rig_bytes(rig, false), rig->word == 4 ? 16 : 24);
	free(rig);
	start_rig(_i, ALL_OPTIONS, MDD_LEVELS);
	ck_assert_uint_eq(rig_bytes(rig, false), rig->word == 4 ? 64 : 112);
}

/* --- mapped files ------------------------------------------------------------- */

static uint8_t elf[4096];

static size_t
put_elf(size_t at, uint64_t v, unsigned n, bool big)
{
	for (unsigned i = 0; i < n; i++)
		elf[at + i] = (uint8_t)(v >> 8 * (big ? n - 1 - i : i));
	return at + n;
}

/* A head with one segment of code at 0x400000 and a build id. */
static void
make_elf(bool wide, bool big)
{
	size_t ph = wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	size_t size = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	unsigned w = wide ? 8 : 4;

	memset(elf, 0, sizeof elf);
	memcpy(elf, ELFMAG, SELFMAG);
	elf[EI_CLASS] = wide ? ELFCLASS64 : ELFCLASS32;
	elf[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
	put_elf(16, ET_EXEC, 2, big);
	put_elf(18, EM_ARM, 2, big);
	put_elf(wide ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr,
	    e_phoff), ph, w, big);
	put_elf(wide ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr,
	    e_phnum), 2, 2, big);
	put_elf(ph, PT_LOAD, 4, big);
	put_elf(ph + (wide ? offsetof(Elf64_Phdr, p_vaddr) :
	    offsetof(Elf32_Phdr, p_vaddr)), 0x400000, w, big);
	put_elf(ph + size, PT_NOTE, 4, big);
	put_elf(ph + size + (wide ? offsetof(Elf64_Phdr, p_offset) :
	    offsetof(Elf32_Phdr, p_offset)), 1000, w, big);
	put_elf(ph + size + (wide ? offsetof(Elf64_Phdr, p_filesz) :
	    offsetof(Elf32_Phdr, p_filesz)), 36, w, big);
	put_elf(1000, 4, 4, big);
	put_elf(1004, 20, 4, big);
	put_elf(1008, NT_GNU_BUILD_ID, 4, big);
	memcpy(elf + 1012, "GNU", 4);
	memset(elf + 1016, 0xab, 20);
}

CASE("mapped files", .teardown = stop);

/* A note of 20 bytes behind one of another kind. */
static void
put_notes(const char *owner)
{
	static const uint8_t id[20] = { 1, 2, 3 };

	rig_u32(rig, 4);
	rig_u32(rig, 4);
	rig_u32(rig, 1);
	rig_put(rig, "GNU", 4);
	rig_u32(rig, 0);
	rig_u32(rig, 4);
	rig_u32(rig, sizeof id);
	rig_u32(rig, 3);
	rig_put(rig, owner, 4);
	rig_put(rig, id, sizeof id);
}

static void
read_firmware(int i, const char *owner, unsigned cut)
{
	start_rig(i, ALL_OPTIONS, 1);
	rig->info = "program /src/board.elf\n";
	rig_begin(rig);
	rig_memory(rig, 0x8000);
	put_notes(owner);
	rig->len -= cut;
	rig_chunk_end(rig);
	fill(3, 0);
	rig_end(rig);
	read_rig();
	ck_assert(d.firmware);
	ck_assert_uint_eq(d.nproblems, 0);
}

LOOP_TEST(the_build_id_of_firmware_comes_from_its_note_in_memory, 0, 4)
{
	read_firmware(_i, "GNU", 0);
	ck_assert_uint_eq(d.nmodules, 1);
	ck_assert_str_eq(d.module[0].path, "/src/board.elf");
	ck_assert_uint_eq(d.module[0].build_id_len, 20);
	ck_assert_uint_eq(d.module[0].build_id[2], 3);
	ck_assert_ptr_null(dump_module(&d, 0x8000));
}

LOOP_TEST(firmware_without_such_a_note_has_none, 0, 4)
{
	read_firmware(_i, "XYZ", 0);
	ck_assert_uint_eq(d.nmodules, 0);
	stop();
	read_firmware(_i, "GNU", 1);
	ck_assert_uint_eq(d.nmodules, 0);
}

LOOP_TEST(build_ids_and_biases_come_from_heads_in_memory, 0, 4)
{
	const struct dump_module *m;

	start_rig(_i, ALL_OPTIONS, 1);
	rig->maps = "50000000-50001000 r--p 00000000 08:01 12 /bin/consume\n"
	    "50001000-50003000 r-xp 00001000 08:01 12 /bin/consume\n"
	    "50003000-50004000 rw-p 00003000 08:01 12 /bin/consume\n"
	    "50100000-50120000 rw-p 00000000 00:00 0 [heap]\n"
	    "60000000-60001000 r-xp 00000000 08:01 13 /lib/with space.so\n"
	    "nonsense\n";
	make_elf(rig->word == 8, rig->big);
	rig_begin(rig);
	rig_memory(rig, 0x50000000);
	rig_put(rig, elf, sizeof elf);
	rig_chunk_end(rig);
	fill(3, 0);
	rig_end(rig);
	read_rig();
	breaks("line 6 of the mappings");
	ck_assert_uint_eq(d.nmodules, 2);
	ck_assert(!d.firmware);
	m = dump_module(&d, 0x50001234);
	ck_assert_str_eq(m->path, "/bin/consume");
	ck_assert_uint_eq(m->bias, 0x50000000 - 0x400000);
	ck_assert_uint_eq(m->machine, EM_ARM);
	ck_assert_uint_eq(m->build_id_len, 20);
	ck_assert_uint_eq(m->build_id[19], 0xab);
	ck_assert_str_eq(dump_module(&d, 0x60000000)->path,
	    "/lib/with space.so");
	ck_assert_ptr_null(dump_module(&d, 0x50003000));
	ck_assert_ptr_null(dump_module(&d, 0x60001000));
	ck_assert_uint_eq(d.nheap, 1);
	ck_assert_uint_eq(d.heap[0].hi, 0x50120000);
}

/* As in a core: its first line is the program's, with its bss behind it. */
static const struct unnamed {
	const char *maps;
	unsigned ranges;
	uint64_t lo, hi;
} unnamed[] = {
	{ "0000c000-0000d000 r-xp 00000000 00:00 0 /bin/consume\n"
	  "0000d000-0000e000 rw-p 00001000 00:00 0 /bin/consume\n"
	  "0000e000-0000f000 rw-p 00000000 00:00 0 \n"
	  "00010000-00011000 rw-p 00000000 00:00 0 \n"
	  "00011000-00012000 rw-p 00000000 00:00 0 \n"
	  "00013000-00014000 rw-p 00000000 00:00 0 \n", 2, 0x10000, 0x12000 },
	/* The kernel's names are there: it would have named the heap. */
	{ "0000c000-0000d000 r-xp 00000000 08:01 12 /bin/consume\n"
	  "00010000-00011000 rw-p 00000000 00:00 0 \n"
	  "7f000000-7f100000 rw-p 00000000 00:00 0 [stack]\n", 0, 0, 0 },
	/* Before the program, or of a file. */
	{ "00010000-00011000 rw-p 00000000 00:00 0 \n"
	  "20000000-20001000 r-xp 00000000 00:00 0 /bin/consume\n", 0, 0, 0 },
	{ "0000c000-0000d000 r-xp 00000000 00:00 0 /bin/consume\n"
	  "00010000-00011000 rw-p 00000000 00:00 0 /lib/other.so\n", 0, 0, 0 },
};

LOOP_TEST(the_heap_of_a_core_is_behind_the_program, 0, BASE_NELEM(unnamed))
{
	const struct unnamed *u = &unnamed[_i];

	start_rig(_i, ALL_OPTIONS, 1);
	rig->maps = u->maps;
	fill(3, 0);
	rig_end(rig);
	read_rig();
	ck_assert_uint_ge(d.record[0].address, 0x10000);
	ck_assert_uint_lt(d.record[2].address, 0x11000);
	ck_assert_uint_eq(d.nheap, u->ranges);
	if (u->ranges > 0) {
		ck_assert_uint_eq(d.heap[0].lo, u->lo);
		ck_assert_uint_eq(d.heap[u->ranges - 1].hi, u->hi);
	}
}

/* --- order ------------------------------------------------------------------------ */

CASE("order", .teardown = stop);

LOOP_TEST(sequence_numbers_may_wrap_around, 0, 4)
{
	struct dump_record b;

	start_rig(_i, ALL_OPTIONS, 1);
	rig_thread(rig, "main", 1);
	for (uint32_t i = 0; i < 8; i++) {
		b = block(i);
		b.alloc.thread = 1;
		b.alloc.seqno = UINT32_MAX - 3 + i;
		rig_block(rig, &b);
	}
	rig->seqno = 4;
	rig_end(rig);
	read_rig();
	ck_assert_msg(d.nproblems == 0, "%s", d.problem[0]);
	ck_assert(d.wrapped);
	for (size_t i = 1; i < d.nrecords; i++)
		ck_assert_uint_gt(dump_position(&d, d.record[i].alloc.seqno),
		    dump_position(&d, d.record[i - 1].alloc.seqno));
}

/* Indexes may wrap around, too; slots are counted from them. */
LOOP_TEST(a_full_history_has_its_last_records, 0, 4)
{
	start_rig(_i, ALL_OPTIONS, 2);
	rig->history_records = 8;
	rig->history_start = 5;
	fill(2, 8);
	rig_end(rig);
	read_rig();
	ck_assert_msg(d.nproblems == 0, "%s", d.problem[0]);
	has_all();
	ck_assert_uint_eq(d.counts.overwritten, 0);
}

LOOP_TEST(overwritten_records_are_counted, 0, 4)
{
	start_rig(_i, ALL_OPTIONS, 1);
	rig->history_records = 8;
	fill(2, 8);
	/* The buffer has gone round: the indexes of its records are 8 to 15. */
	rig->history_start = 8;
	rig_end(rig);
	memset(rig->bytes + rig->root_at + 8 + 4 * 18, 0, 4);
	rig_seal(rig);
	read_rig();
	ck_assert_uint_eq(d.counts.overwritten, 8);
	ck_assert_uint_eq(d.npast, 8);
}

TEST(a_half_written_record_is_not_believed)
{
	start_rig(1, ALL_OPTIONS, 1);
	fill(2, 6);
	rig->past[2].block.address = 0;
	rig_end(rig);
	read_rig();
	ck_assert_uint_eq(d.npast, 5);
	ck_assert_uint_eq(d.counts.in_flight, 1);
	ck_assert_uint_eq(d.nproblems, 0);
}

/* A block that was being freed is in both tables: it is freed, and unsure. */
TEST(a_block_in_both_tables_is_freed)
{
	struct dump_moment m;

	start_rig(1, ALL_OPTIONS, 1);
	fill(4, 0);
	m = moment(9, MDD_FREE);
	rig_past(rig, &rig->block[2], &m);
	rig->seqno = 10;
	rig->busy = 1;
	rig_end(rig);
	read_rig();
	ck_assert_uint_eq(d.nproblems, 0);
	ck_assert_uint_eq(d.nrecords, 3);
	ck_assert_uint_eq(d.npast, 1);
	ck_assert(d.past[0].block.unsure);
	ck_assert_uint_eq(d.counts.busy, 1);
}

/* --- damage ----------------------------------------------------------------------- */

CASE("damage", .teardown = stop, .seconds = 120);

TEST(what_is_no_dump_is_refused)
{
	ck_assert_int_eq(dump_read(&d, "x", (const uint8_t *)"", 0), -EBADMSG);
	dump_fini(&d);
	ck_assert_int_eq(dump_read(&d, "x", (const uint8_t *)"\177ELF\2\1\1\0",
	    8), -EBADMSG);
}

LOOP_TEST(truncated_anywhere_it_keeps_what_there_is, 0, 4)
{
	size_t whole;

	start_rig(_i, ALL_OPTIONS, 1);
	rig->info = "number 1\n";
	rig->maps = "50000000-50001000 r-xp 00000000 08:01 12 /bin/consume\n";
	fill(20, 9);
	rig_end(rig);
	whole = rig->len;
	for (rig->len = 8; rig->len < whole;
	    rig->len += (size_t)check_stride(3)) {
		read_rig();
		ck_assert_uint_gt(d.nproblems, 0);
		ck_assert_uint_le(d.nrecords, rig->blocks);
		dump_fini(&d);
	}
}

LOOP_TEST(a_flipped_bit_is_found, 0, 4)
{
	start_rig(_i, ALL_OPTIONS, 1);
	rig->info = "number 1\n";
	rig->maps = "50000000-50001000 r-xp 00000000 08:01 12 /bin/consume\n";
	fill(9, 5);
	rig_end(rig);
	for (size_t at = 8; at < rig->len; at += (size_t)check_stride(5)) {
		rig->bytes[at] ^= (uint8_t)(1u << at % 8);
		read_rig();
		ck_assert_msg(d.nproblems > 0, "byte %zu", at);
		dump_fini(&d);
		rig->bytes[at] ^= (uint8_t)(1u << at % 8);
	}
}

/* The checksum agrees: somebody has overwritten the target's tables. */
LOOP_TEST(overwritten_tables_end, 0, 4)
{
	static const uint8_t with[] = { 0x00, 0xff, 0x80, 0x20 };

	start_rig(_i, ALL_OPTIONS, 1);
	fill(40, 9);
	rig_end(rig);
	for (size_t at = 16; at + 8 < rig->len; at += 3 * (size_t)check_stride(11)) {
		uint8_t saved[8];

		memcpy(saved, rig->bytes + at, 8);
		memset(rig->bytes + at, with[at / 3 % 4], 8);
		rig_seal(rig);
		read_rig();
		ck_assert_uint_le(d.nrecords, 1 << 16);
		dump_fini(&d);
		memcpy(rig->bytes + at, saved, 8);
	}
}

TEST(other_versions_are_named)
{
	start_rig(0, ALL_OPTIONS, 1);
	rig->version = 2;
	fill(1, 0);
	rig_end(rig);
	read_rig();
	breaks("the tables are of version 2");
	dump_fini(&d);
	rig->bytes[8] = 3;
	read_rig();
	breaks("the file is of version 3");
	ck_assert(!d.source.known);
}

TEST(a_wrong_byte_order_is_named)
{
	start_rig(1, ALL_OPTIONS, 1);
	rig->order = 0x01020403;
	fill(1, 0);
	rig_end(rig);
	read_rig();
	breaks("is no byte order");
}

TEST(a_missing_slab_loses_its_records_alone)
{
	start_rig(1, ALL_OPTIONS, 1);
	fill(28, 0);
	rig_end(rig);
	/* The first slab's chunk lies at an address that nothing names. */
	rig->bytes[rig->slab_at - 8 + 6] ^= 0x40;
	rig_seal(rig);
	read_rig();
	breaks("records at 0x21000000: the file has 0 of 4");
	ck_assert_uint_eq(d.nrecords, 24);
}

/* All slabs are the first one, over and over. */
TEST(slabs_that_overlap_end)
{
	start_rig(1, 0, 0);
	rig->same_slab = true;
	for (uint32_t i = 0; i < RIG_MAX; i++)
		rig_block(rig, &(struct dump_record){ .address = 0x1000 + i,
			.size = 1, .alloc = { .seqno = i, .function = 1 } });
	rig->seqno = RIG_MAX;
	rig_end(rig);
	read_rig();
	ck_assert_uint_gt(d.nproblems, 0);
	ck_assert_uint_le(d.nrecords, rig->len / 24);
}

TEST(records_that_contradict_themselves_are_unsure)
{
	struct dump_record b;

	start_rig(1, ALL_OPTIONS, 1);
	fill(2, 0);
	b = block(2);
	b.actual = 1;
	rig_block(rig, &b);
	b = block(3);
	b.size = UINT64_MAX;
	b.actual = 0;
	rig_block(rig, &b);
	b = block(4);
	b.alloc.function = MDD_FREE;
	rig_block(rig, &b);
	b = block(5);
	b.alloc.thread = 77;
	rig_block(rig, &b);
	rig->seqno = 6;
	rig_end(rig);
	read_rig();
	ck_assert_uint_eq(d.nproblems, 4);
	ck_assert_uint_eq(d.nrecords, 6);
	for (size_t i = 0; i < 6; i++)
		ck_assert(d.record[i].unsure == (i >= 2));
	breaks("its actual size is less");
	breaks("beyond the last address");
	breaks("none that allocates");
	breaks("not in the table of threads");
}

TEST(sums_of_contradicting_records_do_not_wrap_around)
{
	struct dump_record b;
	struct dump_totals t;

	start_rig(1, ALL_OPTIONS, 1);
	b = block(0);
	b.actual = b.size - 1;
	rig_block(rig, &b);
	for (uint32_t i = 1; i < 4; i++) {
		b = block(i);
		b.size = UINT64_C(1) << 63;
		b.actual = 0;
		rig_block(rig, &b);
	}
	rig->seqno = 4;
	rig_end(rig);
	read_rig();
	dump_sum(&d, &t);
	ck_assert_uint_eq(t.blocks, 4);
	ck_assert_uint_eq(t.bytes, UINT64_MAX);
	ck_assert_uint_eq(t.actual, t.bytes);
}

TEST(more_problems_than_words_are_counted)
{
	start_rig(1, ALL_OPTIONS, 1);
	for (uint32_t i = 0; i < 100; i++) {
		struct dump_record b = block(i);

		b.actual = 1;
		b.size = 50;
		b.alloc.thread = 0;
		rig_block(rig, &b);
	}
	rig->seqno = 100;
	rig_end(rig);
	read_rig();
	ck_assert_uint_eq(d.nproblems, 100);
}

TEST(a_count_of_threads_without_memory_ends)
{
	start_rig(1, ALL_OPTIONS, 1);
	rig->threads_told = UINT32_MAX;
	fill(1, 0);
	rig_end(rig);
	read_rig();
	ck_assert_uint_le(d.nthreads, 64);
	breaks("threads");
}
