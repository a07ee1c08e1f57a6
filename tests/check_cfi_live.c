/*
 * Rules of the objects that this program has loaded, and walks by them beside
 * backtrace(3).
 */
#include "../src/alloclog/unwind/cfi.h"
#include "cfi_samples.h"
#include "harness.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)
static const struct cfi_rule untouched = {
	.base = 0xaa, .cfa = 4711, .rbp_off = 4712, .ra = 4713,
};

/* --- objects ------------------------------------------------------------- */

extern char _start[];

/* A function as the number that it is. */
#define CODE(f) ((uintptr_t)(f))

CASE("Objects");

TEST(address_in_no_object_leaves_the_object_untouched)
{
	struct cfi_object object = { .start = 4711 };
	struct cfi_rule rule;
	char *jit = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t nowhere[] = { 0, 1, 4711, (uintptr_t)&rule,
		(uintptr_t)jit + 100, UINTPTR_MAX };
	size_t i;

	ck_assert_ptr_ne(jit, MAP_FAILED);
	for (i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		ck_assert_int_eq(cfi_find(NULL, nowhere[i], true, &rule, &object),
		    -ENOENT);
		ck_assert_int_eq(cfi_find(NULL, nowhere[i], false, &rule, &object),
		    -ENOENT);
		ck_assert_uint_eq(object.start, 4711);
	}
	munmap(jit, 4096);
}

static void
check_entry(uintptr_t function, const void *base)
{
	struct cfi_object object = { .map = NULL };
	struct cfi_rule rule = untouched;

	ck_assert_int_eq(cfi_find(NULL, function, true, &rule, &object), 0);
	ck_assert_int_eq(rule.base, CFI_RSP);
	ck_assert_int_eq(rule.cfa, 8);
	ck_assert_int_eq(rule.ra, -8);
	ck_assert_int_eq(rule.rbp, CFI_RBP_SAME);
	ck_assert_ptr_nonnull(object.map);
	ck_assert(object.start <= function && function < object.end);
	ck_assert_ptr_eq((void *)object.bias, base);
	ck_assert_ptr_eq((void *)object.start, base);
}

TEST(functions_begin_with_a_return_address_at_rsp)
{
	uintptr_t own[] = { CODE(check_entry), CODE(cfi_find_in) };
	void *libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
	Dl_info info;
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		ck_assert_int_ne(dladdr((void *)own[i], &info), 0);
		check_entry(own[i], info.dli_fbase);
	}
	ck_assert_ptr_nonnull(libc);
	ck_assert_int_ne(dladdr(dlsym(libc, "qsort"), &info), 0);
	check_entry((uintptr_t)dlsym(libc, "qsort"), info.dli_fbase);
	dlclose(libc);
}

/* The first one ends in a call, as far as its table says. */
__asm__ (
    "	.pushsection .text\n"
    "last_call:\n"
    "	.cfi_startproc\n"
    "	.cfi_def_cfa_offset 64\n"
    "	nop\n"
    "	.cfi_endproc\n"
    "behind_it:\n"
    "	.cfi_startproc\n"
    "	nop\n"
    "	.cfi_endproc\n"
    "	.popsection\n");
extern char behind_it[];

TEST(address_behind_a_last_call_is_of_the_function_before)
{
	struct cfi_object object;
	struct cfi_rule rule = untouched;

	ck_assert_int_eq(cfi_find(NULL, (uintptr_t)behind_it, true, &rule, &object),
	    0);
	ck_assert_int_eq(rule.cfa, 8);
	ck_assert_int_eq(cfi_find(NULL, (uintptr_t)behind_it, false, &rule,
	    &object), 0);
	ck_assert_int_eq(rule.cfa, 64);
}

TEST(functions_of_the_vdso_have_rules)
{
	void *base = (void *)getauxval(AT_SYSINFO_EHDR);
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_LAZY);

	if (base == NULL || vdso == NULL) {
		printf("skipped: the kernel has given us no vdso\n");
		return;
	}
	check_entry((uintptr_t)dlsym(vdso, "__vdso_clock_gettime"), base);
	dlclose(vdso);
}

TEST(start_of_the_program_is_outermost)
{
	struct cfi_object object;
	struct cfi_rule rule = untouched;

	ck_assert_int_eq(cfi_find(NULL, (uintptr_t)_start + 8, true, &rule, &object),
	    0);
	ck_assert(cfi_rules_equal(&rule,
	    &(struct cfi_rule){ .outermost = true }));
}

/* --- a damaged object ---------------------------------------------------- */

/* Linked for pages of 2 MiB, so that its mapping has a hole. */
static void *
open_object_with_hole(void)
{
	char path[] = "/tmp/pagek-cfi-XXXXXX", command[256];
	void *object = NULL;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof(command), "echo 'int f(void) { return 1; }' | "
	    "cc -shared -fPIC -Wl,-z,max-page-size=0x200000 -o %s -x c - "
	    "2>/dev/null", path);
	if (system(command) == 0)
		object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	unlink(path);
	return object;
}

static bool
is_readable(uintptr_t at)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)at, 1 };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

/* Search tables that point anywhere in the mapping, or near it. */
TEST(damaged_table_of_an_object_with_a_hole_is_survived)
{
	void *object = open_object_with_hole();
	struct dl_find_object o;
	struct cfi_object found;
	struct cfi_rule rule;
	uintptr_t f, page, end;
	int32_t *entry;
	int64_t to;
	int err;

	if (object == NULL) {
		printf("skipped: no compiler makes an object with a hole\n");
		return;
	}
	f = (uintptr_t)dlsym(object, "f");
	ck_assert_int_eq(cfi_find(NULL, f, true, &rule, &found), 0);
	ck_assert_int_eq(_dl_find_object((void *)f, &o), 0);
	for (end = found.start; end < found.end && is_readable(end);)
		end += 4096;
	ck_assert_msg(end < found.end, "the object has no hole");
	page = (uintptr_t)o.dlfo_eh_frame & ~(uintptr_t)4095;
	ck_assert_int_eq(mprotect((void *)page, 8192,
	    PROT_READ | PROT_WRITE), 0);
	/* The last function that starts before f is any of these: change all. */
	for (to = -0x300000; to < 0x600000; to += 0x7ff) {
		entry = (int32_t *)o.dlfo_eh_frame + 3;
		for (int32_t i = 0; i < entry[-1]; i++)
			entry[2 * i + 1] = (int32_t)to;
		err = cfi_find(NULL, f, true, &rule, &found);
		ck_assert(err == 0 || err == -ENOENT || err == -ENOTSUP);
	}
	dlclose(object);
}

/* --- walks --------------------------------------------------------------- */

struct regs {
	uintptr_t pc, rsp, rbp;
	bool rbp_lost;
};

/* What lies on a stack is nobody's object: not for sanitizers. */
__attribute__((no_sanitize("address", "thread", "undefined"), noinline))
static uintptr_t
load(uintptr_t at)
{
	return *(volatile uintptr_t *)at;
}

static uintptr_t
next_rbp(const struct cfi_rule *rule, const struct regs *r, uintptr_t cfa)
{
	uintptr_t off = (uintptr_t)(intptr_t)rule->rbp_off;

	switch (rule->rbp) {
	case CFI_RBP_AT_CFA:
		return load(cfa + off);
	case CFI_RBP_AT_RSP:
		return load(r->rsp + off);
	case CFI_RBP_AT_RBP:
		return load(r->rbp + off);
	default:
		return r->rbp;
	}
}

static uintptr_t
cfa_of(const struct cfi_rule *rule, const struct regs *r)
{
	uintptr_t off = (uintptr_t)(intptr_t)rule->cfa;

	switch (rule->base) {
	case CFI_RSP:
		return r->rsp + off;
	case CFI_RBP:
		return r->rbp + off;
	case CFI_AT_RSP:
		return load(r->rsp + off);
	default:
		return load(r->rbp + off);
	}
}

/* To the caller; 1, 0 when there is none, or what cfi_find() says. */
static int
step(struct regs *r, bool *exact)
{
	struct cfi_object object;
	struct cfi_rule rule;
	uintptr_t cfa, ra;
	int err;

	err = cfi_find(NULL, r->pc, *exact, &rule, &object);
	if (err != 0 || rule.outermost)
		return err;
	if (r->rbp_lost && (rule.base == CFI_RBP || rule.base == CFI_AT_RBP))
		return -EDOM;
	cfa = cfa_of(&rule, r);
	ra = (rule.ra_at_rsp ? r->rsp : cfa) + (uintptr_t)(intptr_t)rule.ra;
	r->pc = load(ra);
	r->rbp_lost = rule.rbp == CFI_RBP_LOST ||
	    (rule.rbp == CFI_RBP_SAME && r->rbp_lost);
	r->rbp = next_rbp(&rule, r, cfa);
	r->rsp = cfa;
	*exact = rule.signal;
	return 1;
}

#define DEPTH 100

/* One stack, as we walk it and as backtrace(3) does. */
static struct {
	uintptr_t own[DEPTH];
	void *other[DEPTH];
	int own_len, other_len, signals, err;
} walks;

/* From handlers too: nothing is asserted here. */
__attribute__((noinline))
static void
take_walks(void)
{
	struct regs r = { .rbp_lost = false };
	bool exact = true;
	int got;

	__asm__ volatile ("leaq 0f(%%rip), %0\n0:\tmovq %%rsp, %1\n"
	    "\tmovq %%rbp, %2" : "=&r" (r.pc), "=&r" (r.rsp), "=&r" (r.rbp));
	walks.other_len = backtrace(walks.other, DEPTH);
	walks.own_len = walks.signals = 0;
	while ((got = step(&r, &exact)) == 1 && walks.own_len < DEPTH) {
		walks.own[walks.own_len++] = r.pc;
		walks.signals += exact;
	}
	walks.err = got;
}

/* Outside of take_walks(): the other one begins in it, or further inside. */
static void
compare_walks(void)
{
	int i, inner = 0;

	ck_assert_int_eq(walks.err, 0);
	ck_assert_int_gt(walks.own_len, 2);
	while (inner < walks.other_len &&
	    (uintptr_t)walks.other[inner] != walks.own[0])
		inner++;
	ck_assert_int_eq(walks.own_len, walks.other_len - inner);
	for (i = 0; i < walks.own_len; i++)
		ck_assert_uint_eq(walks.own[i],
		    (uintptr_t)walks.other[inner + i]);
}

/* No call of it is the last thing that it does, and no frame is like another. */
static int
deeper(int depth)
{
	volatile char *room = __builtin_alloca((size_t)depth * 16 + 1);

	room[0] = (char)depth;
	if (depth == 0)
		take_walks();
	else
		room[depth * 16] = (char)deeper(depth - 1);
	return room[0];
}

static int
order_by_walk(const void *a, const void *b)
{
	take_walks();
	return *(const char *)a - *(const char *)b;
}

/*
 * An alignment that the stack does not have of itself, and arguments on it
 * that are found by the old one: gcc keeps that in memory.
 */
__attribute__((noinline))
static long
realigned(long a, long b, long c, long d, long e, long f, long g, long h)
{
	volatile struct { _Alignas(64) char room[64]; } big;
	volatile char *more = __builtin_alloca((size_t)a + 100);

	big.room[0] = more[0] = 1;
	take_walks();
	big.room[1] = big.room[0];
	return a + b + c + d + e + f + g + h + (uintptr_t)&big % 64;
}

static void
handler(int number)
{
	realigned(number, 0, 0, 0, 0, 0, 0, 1);
}

static void *
thread(void *arg)
{
	deeper(3);
	return arg;
}

CASE("Walks");

TEST(walk_finds_what_backtrace_finds)
{
	char text[] = "hgfedcba";

	ck_assert_int_eq(deeper(10), 10);
	ck_assert_int_gt(walks.own_len, 10);
	compare_walks();
	ck_assert_int_eq(realigned(1, 2, 3, 4, 5, 6, 7, 8), 36);
	compare_walks();
	qsort(text, 8, 1, order_by_walk);
	ck_assert_str_eq(text, "abcdefgh");
	compare_walks();
}

TEST(walk_goes_on_through_a_signal_frame)
{
	/* The first walk of backtrace(3) allocates. */
	take_walks();
	ck_assert_ptr_ne(signal(SIGUSR1, handler), SIG_ERR);
	ck_assert_int_eq(raise(SIGUSR1), 0);
	compare_walks();
	ck_assert_int_eq(walks.signals, 1);
}

TEST(walk_of_a_thread_ends_where_it_began)
{
	pthread_t id;

	ck_assert_int_eq(pthread_create(&id, NULL, thread, NULL), 0);
	ck_assert_int_eq(pthread_join(id, NULL), 0);
	compare_walks();
}

static ucontext_t outside, inside;
static uintptr_t coroutine_returns_to;

static void
coroutine(void)
{
	coroutine_returns_to = (uintptr_t)__builtin_return_address(0);
}

/*
 * makecontext(3) has it return to the start of a function: no call lies before
 * that, and glibc 2.36 does not say that it is outermost.
 */
TEST(walk_of_a_coroutine_ends_where_it_began)
{
	static char stack[65536];
	struct cfi_object object = { .map = NULL };
	struct cfi_rule rule = untouched;
	int err;

	ck_assert_int_eq(getcontext(&inside), 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	ck_assert_int_eq(swapcontext(&outside, &inside), 0);
	err = cfi_find(NULL, coroutine_returns_to, false, &rule, &object);
	ck_assert(err == -ENOENT || (err == 0 && rule.outermost));
	ck_assert_ptr_nonnull(object.map);
}
#else

CASE("None");

TEST(this_libc_has_no_tables)
{
	struct cfi_object object;
	struct cfi_rule rule;

	ck_assert_int_eq(cfi_find(NULL, 4711, true, &rule, &object), -ENOENT);
}
#endif
