/*
 * The rules of whole files, against libdw's reading of the same tables: libc,
 * the loader, libraries, interpreters, servers and a compiler.
 */
#include "../src/alloclog/unwind/cfi.h"
#include "harness.h"

#include <errno.h>
#include <stdio.h>

#ifdef HAVE_ELFUTILS
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITISED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITISED
#endif
#endif

/* A file with more rows is sampled; sanitizers are slow. */
#ifdef SANITISED
#define ROWS_MAX 6000
#else
#define ROWS_MAX 120000
#endif

#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_RA 16

/* --- what libdw says ----------------------------------------------------- */

enum why {
	FOLLOWED,
	OTHER_REGISTER,	/* the CFA hangs on one that a walk does not know */
	OTHER_CFA,	/* an expression: the PLT's */
	OTHER_RSP,	/* the caller's rsp is not the CFA */
	OTHER_RA,
	WHY_MAX,
};

static const char *const why_names[] = {
	"followed", "on another register", "an expression", "another rsp",
	"no return address",
};

/* reg + off, whether libdw wrote it short or long. */
static bool
is_breg(const Dwarf_Op *op, uint64_t *reg, int64_t *off)
{
	if (op->atom == DW_OP_bregx) {
		*reg = op->number;
		*off = (int64_t)op->number2;
		return true;
	}
	*reg = op->atom - DW_OP_breg0;
	*off = (int64_t)op->number;
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

static enum why
expect_cfa(Dwarf_Frame *frame, struct cfi_rule *want)
{
	Dwarf_Op *op;
	size_t n;
	uint64_t reg;
	int64_t off;

	ck_assert_int_eq(dwarf_frame_cfa(frame, &op, &n), 0);
	if (n < 1 || n > 2 || !is_breg(&op[0], &reg, &off) ||
	    (n == 2 && op[1].atom != DW_OP_deref))
		return OTHER_CFA;
	if (reg != DWARF_RSP && reg != DWARF_RBP)
		return OTHER_REGISTER;
	if (n == 1)
		want->base = reg == DWARF_RSP ? CFI_RSP : CFI_RBP;
	else
		want->base = reg == DWARF_RSP ? CFI_AT_RSP : CFI_AT_RBP;
	want->cfa = (int32_t)off;
	return FOLLOWED;
}

struct location {
	enum { SAME, UNDEFINED, AT_CFA, IS_CFA, AT_RSP, AT_RBP, OTHER } kind;
	int64_t off;
};

static struct location
location(Dwarf_Frame *frame, int reg)
{
	struct location at = { OTHER, 0 };
	Dwarf_Op mem[3], *op;
	size_t i = 0, n;
	uint64_t base;

	ck_assert_int_eq(dwarf_frame_register(frame, reg, mem, &op, &n), 0);
	if (n == 0) {
		at.kind = op == NULL ? SAME : UNDEFINED;
		return at;
	}
	if (op[0].atom == DW_OP_call_frame_cfa)
		i++;
	if (i < n && is_breg(&op[i], &base, &at.off)) {
		if (i + 1 == n && base == DWARF_RSP)
			at.kind = AT_RSP;
		if (i + 1 == n && base == DWARF_RBP)
			at.kind = AT_RBP;
		return at;
	}
	if (i == 1 && i < n && op[i].atom == DW_OP_plus_uconst)
		at.off = (int64_t)op[i++].number;
	if (i >= 1 && i == n)
		at.kind = AT_CFA;
	else if (i >= 1 && i + 1 == n && op[i].atom == DW_OP_stack_value)
		at.kind = IS_CFA;
	return at;
}

static void
expect_rbp(Dwarf_Frame *frame, struct cfi_rule *want)
{
	static const uint8_t kinds[] = {
		[SAME] = CFI_RBP_SAME, [UNDEFINED] = CFI_RBP_LOST,
		[AT_CFA] = CFI_RBP_AT_CFA, [IS_CFA] = CFI_RBP_LOST,
		[AT_RSP] = CFI_RBP_AT_RSP, [AT_RBP] = CFI_RBP_AT_RBP,
		[OTHER] = CFI_RBP_LOST,
	};
	struct location at = location(frame, DWARF_RBP);

	want->rbp = kinds[at.kind];
	if (want->rbp != CFI_RBP_SAME && want->rbp != CFI_RBP_LOST)
		want->rbp_off = (int32_t)at.off;
}

static enum why
expect(Dwarf_Frame *frame, bool signal, struct cfi_rule *want)
{
	struct location ra = location(frame, DWARF_RA);
	struct location rsp = location(frame, DWARF_RSP);
	enum why why;

	*want = (struct cfi_rule){ .outermost = ra.kind == UNDEFINED };
	if (want->outermost)
		return FOLLOWED;
	want->signal = signal;
	why = expect_cfa(frame, want);
	if (why != FOLLOWED)
		return why;
	if (ra.kind != AT_CFA && ra.kind != AT_RSP)
		return OTHER_RA;
	want->ra_at_rsp = ra.kind == AT_RSP;
	want->ra = (int32_t)ra.off;
	if (!(rsp.kind == IS_CFA && rsp.off == 0) &&
	    !(rsp.kind == AT_RSP && want->base == CFI_AT_RSP &&
	    want->cfa == rsp.off))
		return OTHER_RSP;
	expect_rbp(frame, want);
	return FOLLOWED;
}

/* --- a file -------------------------------------------------------------- */

struct file {
	const char *path;
	Elf *elf;
	Dwarf_CFI *cfi;
	uint8_t *base;			/* where address 0 of the file is */
	uint8_t *lo, *hi;		/* the segment that the table lies in */
	const uint8_t *hdr;
};

static void
map_segment(struct file *f, const GElf_Phdr *ph, int fd)
{
	size_t skew = ph->p_vaddr % 4096;

	ck_assert_ptr_ne(mmap(f->base + ph->p_vaddr - skew,
	    ph->p_filesz + skew, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
	    (off_t)(ph->p_offset - skew)), MAP_FAILED);
}

/* As the loader does it, but that nothing can be run, written or relocated. */
static void
map_file(struct file *f, int fd)
{
	GElf_Phdr ph, table = { 0 };
	uint64_t first = UINT64_MAX, end = 0;
	uint8_t *room;
	size_t i, n;

	ck_assert_int_eq(elf_getphdrnum(f->elf, &n), 0);
	for (i = 0; i < n; i++) {
		ck_assert_ptr_nonnull(gelf_getphdr(f->elf, (int)i, &ph));
		if (ph.p_type == PT_GNU_EH_FRAME)
			table = ph;
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_vaddr < first)
			first = ph.p_vaddr & ~UINT64_C(4095);
		if (ph.p_vaddr + ph.p_memsz > end)
			end = ph.p_vaddr + ph.p_memsz;
	}
	room = mmap(NULL, end - first, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(room, MAP_FAILED);
	f->base = room - first;
	f->hdr = f->base + table.p_vaddr;
	for (i = 0; i < n; i++) {
		gelf_getphdr(f->elf, (int)i, &ph);
		if (ph.p_type != PT_LOAD || ph.p_filesz == 0)
			continue;
		map_segment(f, &ph, fd);
		if (table.p_vaddr - ph.p_vaddr < ph.p_filesz) {
			f->lo = f->base + ph.p_vaddr;
			f->hi = f->lo + ph.p_filesz;
		}
	}
	ck_assert_ptr_nonnull(f->lo);
}

/* --- the comparison ------------------------------------------------------ */

struct row {
	uint64_t at;
	enum why why;
	struct cfi_rule want;
};

struct tally {
	unsigned rows;
	struct row before;		/* the last one */
	struct cfi_place place;
	unsigned why[WHY_MAX];
};

static bool
rules_equal(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->base == b->base && a->rbp == b->rbp &&
	    a->outermost == b->outermost && a->signal == b->signal &&
	    a->ra_at_rsp == b->ra_at_rsp && a->cfa == b->cfa &&
	    a->rbp_off == b->rbp_off && a->ra == b->ra;
}

static void
compare_from(struct cfi_place *place, const struct file *f, uint64_t at,
    bool exact, enum why why, const struct cfi_rule *want)
{
	struct cfi_rule got = { .cfa = 4711 };
	int err;

	err = cfi_find_in(place, f->hdr, f->lo, f->hi,
	    (uintptr_t)(f->base + at + !exact), exact, &got);
	if (err == (why == FOLLOWED ? 0 : -ENOTSUP) &&
	    (err != 0 || rules_equal(&got, want)))
		return;
	ck_abort_msg("%s: %#lx: %s, %d: base %u%+d rbp %u%+d ra %u%+d "
	    "outermost %u signal %u; not %u%+d %u%+d %u%+d %u %u", f->path,
	    (unsigned long)at, why_names[why], err, got.base, got.cfa,
	    got.rbp, got.rbp_off, got.ra_at_rsp, got.ra, got.outermost,
	    got.signal, want->base, want->cfa, want->rbp, want->rbp_off,
	    want->ra_at_rsp, want->ra, want->outermost, want->signal);
}

static void
compare_at(const struct file *f, struct tally *t, uint64_t at, bool exact,
    const struct row *row)
{
	compare_from(NULL, f, at, exact, row->why, &row->want);
	compare_from(&t->place, f, at, exact, row->why, &row->want);
}

/* The first and the last address of a row, now and then after going back; *at moves on to the next one. */
static bool
compare_row(const struct file *f, uint64_t *at, struct tally *t)
{
	struct row row = { .at = *at };
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	bool signal;

	if (dwarf_cfi_addrframe(f->cfi, *at, &frame) != 0)
		return false;
	ck_assert_int_eq(dwarf_frame_info(frame, &start, &end, &signal),
	    DWARF_RA);
	row.why = expect(frame, signal, &row.want);
	free(frame);
	ck_assert_uint_gt(end, *at);
	compare_at(f, t, *at, true, &row);
	if (t->rows % 5 == 4)
		compare_at(f, t, t->before.at, true, &t->before);
	compare_at(f, t, end - 1, t->rows % 2, &row);
	t->rows++;
	t->why[row.why]++;
	t->before = row;
	*at = end;
	return true;
}

static int32_t
word_at(const uint8_t *p)
{
	int32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static uint64_t
function_at(const struct file *f, uint32_t i)
{
	return (uint64_t)(f->hdr + word_at(f->hdr + 12 + 8 * i) - f->base);
}

/* Every function; of a file that has many, every nth. */
static void
compare_functions(const struct file *f, struct tally *t)
{
	uint32_t i, n = (uint32_t)word_at(f->hdr + 8), step;
	uint64_t at, next;

	ck_assert_int_eq(f->hdr[3], 0x3b);
	step = n / (ROWS_MAX / 6) + 1;
	for (i = 0; i < n && t->rows < ROWS_MAX; i += step) {
		at = function_at(f, i);
		next = i + 1 < n ? function_at(f, i + 1) : UINT64_MAX;
		while (at < next && compare_row(f, &at, t))
			continue;
	}
	printf("%s: %u of %u functions, %u rows", f->path,
	    (n + step - 1) / step, n, t->rows);
	for (i = FOLLOWED + 1; i < WHY_MAX; i++)
		if (t->why[i] > 0)
			printf(", %u not followed (%s)", t->why[i],
			    why_names[i]);
	printf("\n");
}

static void
compare_file(const char *path)
{
	struct tally t = { 0 };
	struct file f = { .path = path };
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		printf("skipped: %s is not here\n", path);
		return;
	}
	elf_version(EV_CURRENT);
	f.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	ck_assert_ptr_nonnull(f.elf);
	f.cfi = dwarf_getcfi_elf(f.elf);
	ck_assert_ptr_nonnull(f.cfi);
	map_file(&f, fd);
	compare_functions(&f, &t);
	ck_assert_uint_gt(t.rows, 10);
	/* The PLT, prologues of functions that realign, libcrypto's loops. */
	ck_assert_uint_le((t.rows - t.why[FOLLOWED]) * 50, t.rows + 500);
	dwarf_cfi_end(f.cfi);
	elf_end(f.elf);
	close(fd);
}

static const char *const paths[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libgcc_s.so.1",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
	"/usr/lib/x86_64-linux-gnu/libitm.so.1",
	"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
	"/usr/bin/python3",
	"/usr/bin/perl",
	"/usr/bin/redis-check-rdb",
	"/usr/bin/sqlite3",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
	"/usr/lib/llvm-14/bin/clang",
};
#define PATHS (sizeof(paths) / sizeof(paths[0]))

#else
static const char *const paths[] = { "" };
#define PATHS 1

static void
compare_file(const char *path)
{
	(void)path;
	printf("skipped: no elfutils, which the rules are compared with\n");
}
#endif

CASE("Files");

LOOP_TEST(every_row_is_what_libdw_reads, 0, (int)PATHS)
{
	compare_file(paths[_i]);
}
