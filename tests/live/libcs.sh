#!/bin/sh
# Whatever libc a target has, our library loads and the target behaves as it
# would without us; of that libc we call what src/alloclog/imports lists, and
# nothing that the target or another preload may replace.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek
library=$B/liballoclog.so
imports=$top/src/alloclog/imports
targets=$top/tests/targets

# --- what the library needs --------------------------------------------------

unversioned() {
	readelf -V "$library" >"$tmp/versions" && cat "$tmp/versions" &&
	    ! grep -q 'Version needs' "$tmp/versions" &&
	    readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	    cmp - "$tmp/needed"
}
echo libc.so.6 >"$tmp/needed"
rule "the library needs libc.so.6 alone, and no version of it" unversioned

# rows KIND...: the names that the list has of these kinds.
rows() {
	for kind in "$@"; do
		sed -n "s/^$kind	\\([a-z_]*\\).*/\\1/p" "$imports"
	done | sort
}
imported() {
	nm -D "$library" | awk -v kind="$1" '$1 == kind { print $2 }' | sort
}
listed_alone() {
	strong=always
	[ "$(uname -m)" = x86_64 ] || strong='always other'
	rows $strong >"$tmp/strong" && rows weak >"$tmp/weak" &&
	    imported U | diff - "$tmp/strong" && imported w | diff - "$tmp/weak"
}
rule "it takes from outside what the list has, and only what each libc has must be there" \
    listed_alone

# --- other libcs -------------------------------------------------------------

# plain_and_ours COMMAND...: output and status with and without us.
plain_and_ours() {
	"$@" >"$tmp/plain.out" 2>"$tmp/plain.err" </dev/null
	plain=$?
	"$pagek" run -b -o /dev/null $options --report "$report" -- "$@" \
	    >"$tmp/ours.out" 2>"$tmp/ours.err" </dev/null
	ours=$?
	cat "$tmp/ours.err"
	[ "$plain" = "$ours" ] || { echo "status $ours, plain $plain"; return 1; }
	cmp "$tmp/plain.out" "$tmp/ours.out" && cmp "$tmp/plain.err" "$tmp/ours.err"
}
report=$tmp/report
options=

# complete NAME [PATTERN]: it was watched from its start to its end.
complete() {
	grep "\"comm\": \"$1\"" "$report" | tee "$tmp/line" |
	    grep -q '"complete": true' && grep -q "${2:-.}" "$tmp/line"
}
watched_once() {
	name=$1
	plain_and_ours "$bin/$name" && complete "$name"
}
watched() {
	unless_busy watched_once "$@"
}

# counted NAME [ARGUMENT]: each number is that of the counting layer.
counted_once() {
	rm -rf "$tmp/count" && mkdir "$tmp/count"
	COUNT_DIR=$tmp/count "$pagek" run -b -o /dev/null $options \
	    --report "$report" -- sh -c 'c=$0
	    LD_PRELOAD=$LD_PRELOAD:$c exec "$@"' "$bin/count.so" "$bin/$@"
	status=$?
	[ $status = "${expect:-0}" ] || { echo "status $status"; return 1; }
	grep -v '"comm": "sh"' "$report" >"$tmp/images" &&
	    "$top/tests/count/compare" "$tmp/images" "$tmp/count" --unheard 5
}
counted() {
	unless_busy counted_once "$@"
}

# A program of few needs; it asks for what its libc may not have.
cat >"$tmp/modest.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern void *pvalloc(size_t) __attribute__((weak));
static void *(*volatile by_address)(size_t) = malloc;
int main(void)
{
	void *p, *q = memalign(256, 100), *r = aligned_alloc(64, 640);
	int status;
	char *zeros = calloc(10, 1000), *text = strdup("a libc allocates");
	if (posix_memalign(&p, 4096, 5000) != 0 || q == NULL || r == NULL)
		return 1;
	if (zeros == NULL || text == NULL || zeros[0] != 0 ||
	    memcmp(zeros, zeros + 1, 9999) != 0 ||
	    posix_memalign(&p, 3, 10) != EINVAL ||
	    calloc((size_t)1 << 40, (size_t)1 << 40) != NULL || errno != ENOMEM)
		return 2;
	memset(strcpy(by_address(7000), "by address"), 'x', 10);
	for (int i = 0; i < 100; i++)
		by_address(1000 + i);
	if (pvalloc != NULL)
		free(pvalloc(100));
	printf("%d\n", ((size_t)p | (size_t)r) % 64 == 0 && (size_t)q % 256 == 0);
	fflush(stdout);
	if (fork() == 0)
		_exit(by_address(31337) == NULL);
	wait(&status);
	free(q);
	return 40 + status;
}
C
# seeks_pvalloc: as without us, dlsym(3) finds only what libc has.
cat >"$tmp/seeks.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	printf("%d %d\n", dlsym(RTLD_DEFAULT, "pvalloc") != NULL,
	    dlsym(RTLD_DEFAULT, "_Znwm") != NULL);
	return dlerror() == NULL;
}
C

# tried LIBC BLOCKS: what both are tried with, once their programs stand in
# $bin; the modest one holds so many blocks in the end.
tried() {
	libc=$1
	blocks=$2
	rule "$libc: a program runs as without us and is watched" watched modest
	rule "$libc: its blocks are all there" \
	    complete modest "\"live_blocks\": $blocks,.*\"duplicate\": 0,"
	rule "$libc: one that is not position independent too" watched fixed
	rule "$libc: no function is found that libc does not have" watched seeks
	for options in --dormant "--sample 64k" "--stack 0" "--free-stack"; do
		rule "$libc: it runs as without us: $options" \
		    plain_and_ours "$bin/modest"
	done
	options=
	rule "$libc: threads that free each other's blocks are counted exactly" \
	    counted exact_threads 20000
	rule "$libc: threads that come and go are counted exactly" counted exact_churn
	rule "$libc: children are counted exactly" counted exact_firsts
	rule "$libc: requests that fail are counted exactly" counted failing
}

sources='exact_threads exact_churn exact_firsts failing'
flags='-std=c17 -D_GNU_SOURCE -O1 -g -fno-builtin'
counting='-std=c17 -D_GNU_SOURCE -O2 -fPIC -fno-builtin -ftls-model=initial-exec -shared'

musl_programs() {
	for t in $sources; do
		musl-gcc $flags -o "$bin/$t" "$targets/$t.c" || return 1
	done
	musl-gcc $flags -pie -o "$bin/modest" "$tmp/modest.c" &&
	    musl-gcc $flags -no-pie -o "$bin/fixed" "$tmp/modest.c" &&
	    musl-gcc $flags -o "$bin/seeks" "$tmp/seeks.c" &&
	    musl-gcc $counting -o "$bin/count.so" "$top/tests/count/count.c"
}
bin=$tmp/musl
mkdir "$bin"
if command -v musl-gcc >/dev/null; then
	rule "musl: the programs build" musl_programs
	# musl has one for our fork handlers.
	tried musl 106
	build() {
		printf 'all:\n\t@%s/modest || [ $$? = 40 ]\n\t@echo made\n' "$bin" >"$tmp/Makefile"
		plain_and_ours make -f "$tmp/Makefile" && complete modest &&
		    complete make
	}
	rule "musl: as a child of a program of another libc too" unless_busy build
else
	skip "musl-tools are not installed: no program is linked against musl"
fi

# Programs of Debian 11, linked with this machine's objects.  By RPATH, so that
# libraries of theirs find libraries of theirs.
older_programs() {
	root=$B/port/debian11/root
	lib=$root/lib/x86_64-linux-gnu
	usr=$root/usr/lib/x86_64-linux-gnu
	old="-nostdlib -Wl,--disable-new-dtags -Wl,-rpath,$lib:$usr \
	    -Wl,-rpath-link,$lib:$usr -Wl,--dynamic-linker=$lib/ld-linux-x86-64.so.2"
	libs="-Wl,--as-needed $lib/libpthread.so.0 $lib/libdl.so.2 $lib/libc.so.6 $lib/ld-linux-x86-64.so.2"
	crt=$(gcc -print-file-name=crt1.o)
	for t in $sources; do
		gcc $flags $old -o "$bin/$t" "$targets/$t.c" "$crt" $libs || return 1
	done
	gcc $flags $old -o "$bin/modest" "$tmp/modest.c" "$crt" $libs &&
	    gcc $flags $old -no-pie -o "$bin/fixed" "$tmp/modest.c" "$crt" $libs &&
	    gcc $flags $old -o "$bin/seeks" "$tmp/seeks.c" "$crt" $libs &&
	    gcc $counting $old -o "$bin/count.so" "$top/tests/count/count.c" $libs &&
	    g++ -std=c++17 -O1 -g -fno-builtin $old -o "$bin/exact_operators" \
		"$targets/exact_operators.cc" "$crt" \
		"$(gcc -print-file-name=crtbeginS.o)" "$usr/libstdc++.so.6" \
		"$lib/libgcc_s.so.1" "$lib/libm.so.6" $libs \
		"$(gcc -print-file-name=crtendS.o)"
}
bin=$tmp/older
mkdir "$bin"
"$top/tests/port" libs debian11 >"$tmp/older.log" 2>&1
case $? in
0)
	rule "glibc 2.31: the programs build" older_programs
	# Its standard output has a block.
	tried "glibc 2.31" 106
	rule "glibc 2.31: operators of a program without libdl are those of its library" \
	    watched exact_operators
	expect=4
	rule "glibc 2.31: and counted exactly" counted exact_operators
	expect=0
	;;
*)
	skip "$(tail -n 1 "$tmp/older.log")"
	;;
esac

# --- functions that are replaced ---------------------------------------------

if command -v faketime >/dev/null; then
	faked() {
		options=
		plain_and_ours faketime -f '2020-02-03 04:05:06' sh -c \
		    'date +%Y; perl -e "print +(localtime)[5], 1"; ls /' &&
		    complete ls && complete perl &&
		    ! grep '"complete": false' "$report"
	}
	rule "under faketime everything is watched, and has the time that it wants" \
	    unless_busy faked
	# Its clocks around pagek and node: standing still, hardly moving, wrong,
	# fast, and with a step at each look.
	around_us() {
		for clock in '2020-01-01 00:00:00' '+0 x0.0001' '+0 x0' \
		    '+0 x1000' '-1d i2,2'; do
			timeout -k 1 30 faketime -f "$clock" "$B/pagek" run -b \
			    -o /dev/null -- sh -c 'exit 7'
			[ $? = 7 ] || { echo "with the clock $clock"; return 1; }
		done
	}
	rule "under faketime pagek itself ends when its command does" around_us
else
	skip "faketime is not installed: no clock is replaced"
fi

# A preload that ends a program whose library of ours calls it.
cat >"$tmp/jealous.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
extern const char ours_begins[] __asm__("alloclog_stop") __attribute__((weak));
static int is_ours(void *caller)
{
	uintptr_t at = (uintptr_t)caller - (uintptr_t)ours_begins;
	return ours_begins != NULL && at + (1 << 18) < 1 << 19;
}
static long raw(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10)
	    : "rcx", "r11", "memory");
	return n;
}
#define JEALOUS(type, name, params, value) \
	type name params \
	{ \
		static const char text[] = #name " was called\n"; \
		if (is_ours(__builtin_return_address(0))) { \
			raw(SYS_write, 2, (long)text, sizeof(text) - 1, 0); \
			raw(SYS_exit_group, 9, 0, 0, 0); \
		} \
		return value; \
	}
JEALOUS(int, clock_gettime, (clockid_t id, struct timespec *ts),
    (int)raw(SYS_clock_gettime, id, (long)ts, 0, 0))
JEALOUS(char *, secure_getenv, (const char *name), NULL)
JEALOUS(char *, getenv, (const char *name), NULL)
JEALOUS(unsigned long, getauxval, (unsigned long type), 0)
JEALOUS(int, getpagesize, (void), 4096)
JEALOUS(long, sysconf, (int what), 4096)
JEALOUS(void *, mmap, (void *p, size_t n, int prot, int flags, int fd, off_t at), (void *)-1)
JEALOUS(int, close, (int fd), (int)raw(SYS_close, fd, 0, 0, 0))
JEALOUS(pid_t, getpid, (void), (pid_t)raw(SYS_getpid, 0, 0, 0, 0))
JEALOUS(size_t, strlen, (const char *s), ({ size_t n = 0; while (s[n] != 0) { n++; __asm__(""); } n; }))
C
cat >"$tmp/calm.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 5000; i++)
		if (malloc(100 + i % 900) == NULL)
			return 1;
	if (fork() == 0)
		_exit(malloc(10) == NULL);
	return 0;
}
C
jealous_once() {
	"$pagek" run -b -o /dev/null --report "$report" -- sh -c \
	    "LD_PRELOAD='$tmp/jealous.so':\$LD_PRELOAD exec '$tmp/calm'" &&
	    complete calm '"allocs": 5000,'
}
jealous() {
	gcc -O1 -fno-builtin -fPIC -shared -o "$tmp/jealous.so" "$tmp/jealous.c" &&
	    gcc -O1 -fno-builtin -o "$tmp/calm" "$tmp/calm.c" &&
	    unless_busy jealous_once
}
if [ "$(uname -m)" = x86_64 ]; then
	rule "no function of a preload before us is called by the library" jealous
fi

say_result
