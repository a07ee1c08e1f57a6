#!/bin/sh
# pagek check on real programs: what each limit finds is what the program did,
# and the exit status is what a test suite goes by.  Needs python3 and a redis.
set -u
. "$(dirname "$0")/lib.sh"

stop() {
	[ -z "${run:-}" ] || { kill "$run" 2>/dev/null; wait "$run"; }
	rm -rf "$tmp"
} >/dev/null 2>&1
trap stop EXIT

# holder BLOCKS MS STATUS: takes as many blocks of 1,000 bytes at once, frees
# half of them, takes one more each millisecond, and leaves them all.
cat >"$tmp/holder.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile keep[100000];
__attribute__((noinline)) static void take_many(int n)
{
	for (int i = 0; i < n; i++)
		keep[i] = malloc(1000);
	for (int i = 0; i < n / 2; i++)
		free(keep[i]);
}
__attribute__((noinline)) static void take_slowly(int n, int ms)
{
	for (int i = 0; i < ms; i++) {
		keep[n + i] = malloc(1000);
		usleep(1000);
	}
}
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), ms = atoi(argv[2]);

	take_many(n);
	take_slowly(n, ms);
	if (write(1, "out\n", 4) < 0 || write(2, "err\n", 4) < 0)
		return 1;
	return argc > 3 ? atoi(argv[3]) : 0;
}
C
cc -O1 -g -fno-builtin -o "$tmp/holder" "$tmp/holder.c" || exit 1

# A target can be left unwatched by a node that is late on a busy machine; then
# that is the verdict, and it is asked again.
unless_lost() {
	"$@" || { said_lost && "$@"; } || { said_lost && "$@"; }
}
said_lost() {
	grep -q -e 'nothing was watched' -e 'lost' -e 'not complete at the end' "$tmp/verdict"
}

# verdict STATUS PATTERN ARGUMENTS...
verdict_once() {
	want=$1
	pattern=$2
	shift 2
	"$B/pagek" check -o "$tmp/verdict" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
	got=$?
	cat "$tmp/verdict" "$tmp/stderr"
	[ $got = "$want" ] || { echo "status $got, not $want"; return 1; }
	grep -q "^pagek check: $pattern" "$tmp/verdict"
}
verdict() {
	unless_lost verdict_once "$@"
}

h=$tmp/holder
rule "what is held below the limit is within" \
    verdict 0 "max-live 50.0 MiB: was 9\.[0-9] MiB at .*: within$" \
    --max-live 50M -- "$h" 10000 0
rule "a peak between two looks is found" \
    verdict 7 "max-live 8.0 MiB: was 9\.[0-9] MiB at .*: exceeded$" \
    --max-live 8M -- "$h" 10000 0
# Freed within the millisecond, before anybody could have looked.
cat >"$tmp/short.c" <<'C'
#include <stdlib.h>
static void *volatile keep[100];
int main(int argc, char **argv)
{
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 100; i++)
			keep[i] = malloc((size_t)atoi(argv[1]));
		for (int i = 0; i < 100; i++)
			free(keep[i]);
	}
	return argc > 2;
}
C
cc -O1 -fno-builtin -o "$tmp/short" "$tmp/short.c" || exit 1
rule "a peak of a moment is found, of large blocks" \
    verdict 7 "max-live 50.0 MiB: was 95.4 MiB at .*: exceeded$" \
    --max-live 50M -- "$tmp/short" 1000000
# The program may end before the first request to the node.
rule "and of small ones" \
    verdict 7 "max-live 50.0 KiB: was 78.1 KiB\( at .*\)\{0,1\}: exceeded$" \
    --max-live 50k -- "$tmp/short" 800

# Two threads hold so much at the same time, each within the millisecond.
cat >"$tmp/together.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t both;
static void *volatile keep[2];
static void *hold(void *arg)
{
	int me = *(int *)arg;

	pthread_barrier_wait(&both);
	keep[me] = malloc(50000000);
	pthread_barrier_wait(&both);
	free(keep[me]);
	return NULL;
}
int main(void)
{
	static int one = 1, zero;
	pthread_t t;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, hold, &one);
	hold(&zero);
	return pthread_join(t, NULL);
}
C
cc -O1 -fno-builtin -o "$tmp/together" "$tmp/together.c" -lpthread || exit 1
# As the keeper comes by it sees both at once, or cannot know.
never_within() {
	for _ in 1 2 3 4 5; do
		"$B/pagek" check --strict --max-live 80M -- "$tmp/together" \
		    >"$tmp/out" 2>&1
		case $? in
		7) grep -q 'was 95.4 MiB' "$tmp/out" || return 1 ;;
		6) grep -q 'not known: the threads together may have held up to 95.4 MiB' \
		    "$tmp/out" || return 1 ;;
		*) cat "$tmp/out"; return 1 ;;
		esac
	done
	verdict 0 "max-live 100.0 MiB: was .*: within$" --max-live 100M -- "$tmp/together"
}
rule "what two threads hold at once is never within what one may" never_within
rule "the whole is the worst" \
    verdict 7 "holder\[[0-9]*\]: exceeded, judged for" \
    --max-live 50M --max-live 8M -- "$h" 10000 0
rule "the command's status is kept when all is within" \
    verdict 5 "max-live 50.0 MiB: .*within$" --max-live 50M -- "$h" 10 0 5
rule "and gives way to a limit that is exceeded" \
    verdict 7 "max-live 1.0 KiB: .*exceeded$" --max-live 1k -- "$h" 10 0 5
streams() {
	echo in | "$B/pagek" check --max-live 50M -- sh -c \
	    'cat; echo err >&2' >"$tmp/stdout" 2>"$tmp/verdict"
	[ $? = 0 ] && [ "$(cat "$tmp/stdout")" = in ] &&
	    grep -qx err "$tmp/verdict" &&
	    [ "$(grep -vc '^pagek check: ' "$tmp/verdict")" = 1 ]
}
rule "the command's streams are its own, and the verdict goes to stderr" \
    unless_lost streams
rule "blocks of a type are counted" \
    verdict 7 "max-blocks 4,000 of type=80: were [56],[0-9]* at .*: exceeded$" \
    --max-blocks type=80:4000 -- "$h" 10000 1000
rule "blocks of a function are" \
    verdict 0 "max-blocks 6,000 of function=take_many: were 5,000 .*within$" \
    --max-blocks function=take_many:6000 -- "$h" 10000 1000
rule "and all blocks" \
    verdict 7 "max-blocks 100: were .*exceeded$" --max-blocks 100 -- "$h" 1000 0
rule "blocks that become old are counted" \
    verdict 7 "max-age 4,000 older than 500ms: were [56],[0-9]* .*exceeded$" \
    --max-age 500ms:4000 -- "$h" 10000 1500
rule "young ones are not" \
    verdict 0 "max-age 0 older than 1h: were 0 .*within$" \
    --max-age 1h:0 -- "$h" 10000 100
rule "growth is found, and what is taken at the start is none" \
    verdict 7 "max-growth 1.0 MiB/min: was [2-6][0-9]\.[0-9] MiB/min .*exceeded$" \
    --max-growth 1M/min -- "$h" 20000 3000
rule "steady growth below the limit is within" \
    verdict 0 "max-growth 100.0 MiB/min: was .*within$" \
    --max-growth 100M/min -- "$h" 20000 3000
rule "growth of a moment is not known" \
    verdict 0 "max-growth 1.0 MiB/min: not known: it was not watched for long" \
    --max-growth 1M/min -- "$h" 100 10
rule "which is status 6 with --strict" \
    verdict 6 "max-growth 1.0 MiB/min: not known" \
    --strict --max-growth 1M/min -- "$h" 100 10
# Four million records are 32 MB, at eight bytes each.
torrent_pid() {
	"$B/pagek" targets | sed -n 's/^pid:\([0-9]*\) *torrent .*LIVE.*/\1/p'
}
has_torrent() {
	target=$(torrent_pid) && [ -n "$target" ]
}
many_records() {
	"$B/pagek" targets --format json >"$tmp/json" && python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))["targets"]
sys.exit(max(t["records"] for t in d) < 4e6)' "$tmp/json"
}
leaves_stream() {
	"$B/pagek" check --max-live 50M --max-blocks 30000 -o "$tmp/verdict" \
	    -- "$B/tests/targets/torrent" >"$tmp/stdout" 2>"$tmp/stderr" &
	run=$!
	until_true 10 has_torrent && kill -USR1 "$target" &&
	    until_true 60 many_records
	status=$?
	bytes=$(sed -n 's/^rchar: //p' "/proc/$run/io")
	kill "$target"
	wait $run
	run=
	cat "$tmp/verdict"
	echo "read $bytes"
	[ $status = 0 ] && [ "$bytes" -lt 20000000 ] &&
	    grep -q 'max-live 50.0 MiB: was 9\.[0-9] MiB .*: within$' \
		"$tmp/verdict" &&
	    grep -q 'max-blocks 30,000: were 20,[0-9]* .*: within$' "$tmp/verdict"
}
rule "a fast stream is left to the node where totals are enough" \
    unless_lost leaves_stream
rule "each process of a command has its own peak" \
    verdict 7 "max-live 8.0 MiB: was 9\.[0-9] MiB.* by holder\[[0-9]*\]: exceeded" \
    --max-live 8M -- sh -c "'$h' 10000 0; '$h' 10 200 >/dev/null; true"
cat >"$tmp/many.c" <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* More processes than the node has rows, and an early one holds 100 MB. */
int main(void)
{
	for (int i = 0; i < 1500; i++) {
		if (fork() == 0) {
			void *volatile p = malloc(i == 10 ? 100000000 : 10);

			(void)p;
			_exit(0);
		}
		wait(NULL);
	}
	return 0;
}
C
cc -O1 -fno-builtin -o "$tmp/many" "$tmp/many.c" || exit 1
rule "a peak of one of very many processes is found" \
    verdict 7 "max-live 50.0 MiB: was 95.4 MiB: exceeded" \
    --max-live 50M -- "$tmp/many"
rule "a command that is not there is 127" \
    sh -c "'$B/pagek' check --max-live 1M -- /no/such 2>/dev/null; [ \$? = 127 ]"

# --- data that is not whole
unwatched() {
	cc -static -o "$tmp/static" -x c - <<'C' || return 1
int main(void) { return 0; }
C
	verdict_once 125 "max-live 5.0 MiB: not known: nothing was watched: a \(program that did not register\|statically linked program\)" \
	    --max-live 5M -- "$tmp/static"
}
rule "what could not be watched has not passed" unwatched

# unseen KIND MS: a child that cannot say hello takes 95 MiB and lives so long.
cat >"$tmp/unseen.c" <<'C'
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile keep;
static void hold(const char *ms)
{
	keep = malloc(95 << 20);
	usleep(1000 * (unsigned)atoi(ms));
	_exit(0);
}
static void no_descriptor(void)
{
	static const struct rlimit most = { 4, 4 };

	setrlimit(RLIMIT_NOFILE, &most);
	while (dup(0) >= 0)
		continue;
}
static void no_socket(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
int main(int argc, char **argv)
{
	const char *kind = argv[1];
	int status = 0;
	pid_t child;

	/* The same program, run again by the child: that image is watched. */
	if (strcmp(kind, "small") == 0)
		return malloc(10) == NULL;
	keep = malloc(1000);
	if (strcmp(kind, "sandbox") == 0)
		no_socket();
	else if (strcmp(kind, "root") == 0)
		status = chroot("/proc");
	else
		no_descriptor();
	if (status != 0)
		return 1;
	/* Not by fork(3): it says hello with its first event. */
	child = strcmp(kind, "clone") == 0 ?
	    (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	if (child == 0 && strcmp(kind, "again") == 0) {
		/* For a socket and two areas, but not for the page. */
		for (int fd = 1; fd <= 3; fd++)
			close(fd);
		execl("/proc/self/exe", argv[0], "small", argv[2], NULL);
	}
	if (child == 0 && strcmp(kind, "grandchild") == 0 && fork() != 0)
		_exit(0);
	if (child == 0)
		hold(argv[2]);
	/* The child outlives it. */
	if (strcmp(kind, "orphan") == 0)
		return 0;
	return waitpid(child, &status, 0) != child || status != 0;
}
C
cc -O1 -fno-builtin -w -o "$tmp/unseen" "$tmp/unseen.c" || exit 1

# unseen COUNT REASON KIND: the child ends at once, and then lives until a scan.
unseen() {
	for ms in 0 2000; do
		verdict 0 "max-live 10.0 MiB: .*: not known: $1 process images could not be watched.*: $2$" \
		    --max-live 10M -- "$tmp/unseen" "$3" $ms || return 1
	done
}
no_descriptor='it had no free descriptor to register with the node'
rule "a child without a free descriptor makes --max-live not known" \
    unseen '1 of 2' "$no_descriptor" fork
rule "so does one made by clone(2), at its first event" \
    unseen '1 of 2' "$no_descriptor" clone
rule "so does one whose parent has ended" \
    unseen '1 of 2' "$no_descriptor" orphan
rule "so does the child of an unwatched child" \
    unseen '2 of 3' '.*register with the node.*' grandchild
rule "a child that then runs a program that can register counts once" \
    unseen '1 of 3' "$no_descriptor" again
rule "a child that must not open a socket is not killed, and makes --max-live not known" \
    verdict 0 "max-live 10.0 MiB: .*: not known: 1 of 2 process images could not be watched: it is sandboxed (seccomp).*" \
    --max-live 10M -- "$tmp/unseen" sandbox 0
rule "a scan finds such a child, with the reason" \
    verdict 0 "max-live 10.0 MiB: .*: not known: 1 of 2 .* watched: it is sandboxed (seccomp).*" \
    --max-live 10M -- "$tmp/unseen" sandbox 2000
[ "$(id -u)" != 0 ] || rule "a child in another root folder makes --max-live not known" \
    unseen '1 of 2' "it could not connect to the node's socket.*" root
rule "a limit that is not known is status 6 with --strict" \
    verdict 6 "max-live 10.0 MiB: .*: not known" \
    --strict --max-live 10M -- "$tmp/unseen" fork 0
run_says() {
	"$B/pagek" run -b -o "$tmp/verdict" --report "$tmp/report" -- \
	    "$tmp/unseen" "$@" || return 1
	cat "$tmp/verdict" "$tmp/report"
	grep -q "^pagek: unseen\[[0-9]*\] .*: NO DATA: $no_descriptor$" \
	    "$tmp/verdict" &&
	    grep -q '^{"pid": [0-9]*, "comm": "unseen", "allocs": null.*"complete": false, "reason": "it had no free descriptor' \
	    "$tmp/report"
}
rule "pagek run reports such a child with the reason, and its report has a line" \
    run_says fork 0
counted_too() {
	run_says grandchild 0 &&
	    grep -q '^pagek: 2 process images could not be watched (NO DATA); the first without a line: its parent could not register' "$tmp/verdict"
}
rule "pagek run counts a child that left no process id, and says why" counted_too

# held MS: a static program that holds 95 MiB for so long.
static_programs() {
	cc -static -w -fno-builtin -o "$tmp/held" -x c - <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *volatile p = malloc(95 << 20);

	usleep(1000 * (unsigned)atoi(argv[1]));
	return p == NULL;
}
C
}
static_programs
# not_seen REASON SHELL-LINE
not_seen() {
	verdict 0 "max-live 10.0 MiB: .*: not known: 1 of [2-9] process images could not be watched: $1$" \
	    --max-live 10M -- sh -c "$2"
}
# A scan may have seen it, or the node its end.
ended='a \(statically linked program: .*\|program that did not register, and ended before it was seen .*\)'
rule "a static child is found while it lives, before a second is over" \
    not_seen 'a statically linked program.*' "'$tmp/held' 450; :"
rule "so is a static program in place of a watched one" \
    not_seen 'a statically linked program.*' "exec '$tmp/held' 450"
rule "a static child that ended unseen is found when it is reaped" \
    not_seen "$ended" "('$tmp/held' 0 &); sleep 0.2"
rule "so is one that replaced a forked image" \
    not_seen "$ended" "'$tmp/held' 0 & :"
# told: does the kernel tell of programs that are executed?
# told PROGRAM ARGUMENT: runs it by posix_spawn(3), 20 times.
# told kill COMMAND...: runs that where it is killed for asking the kernel.
cat >"$tmp/told.c" <<'C'
#include "forbid.h"
#include <linux/perf_event.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr, .config = PERF_COUNT_SW_DUMMY,
		.comm = 1, .exclude_kernel = 1 };
	pid_t child;

	if (argc < 3)
		return syscall(SYS_perf_event_open, &attr, 0, 0, -1, 0) < 0;
	if (strcmp(argv[1], "kill") == 0)
		return forbid(SYS_perf_event_open) < 0 ||
		    execv(argv[2], argv + 2) < 0;
	for (int i = 0; i < 20; i++) {
		if (posix_spawn(&child, argv[1], NULL, NULL, argv + 1, environ) != 0)
			return 1;
		waitpid(child, NULL, 0);
	}
	return 0;
}
C
cc -O1 -w -I "$top/tests/targets" -o "$tmp/told" "$tmp/told.c" || exit 1
if "$tmp/told"; then
	rule "a static child that vfork(2) made is never within, however soon it ends" \
	    not_seen "$ended" "'$tmp/held' 0; :"
	rule "static children of posix_spawn(3) are counted, each once" \
	    verdict 0 'max-live 10.0 MiB: .*: not known: 20 of 21 process images .*' \
	    --max-live 10M -- "$tmp/told" "$tmp/held" 0
	in_namespace() {
		unshare -r -p -f --kill-child "$B/pagek" check --max-live 10M -- \
		    "$tmp/told" "$tmp/held" 0 2>"$tmp/verdict"
		cat "$tmp/verdict"
		grep -q 'not known: 20 of 21 process images' "$tmp/verdict"
	}
	! unshare -r -p -f true ||
	    rule "so they are where /proc is of another namespace" in_namespace
else
	skip "static children of vfork(2): perf_event_open(2) is refused"
fi
# Each name of a thread is told by the kernel like that of a program.
cat >"$tmp/renames.c" <<'C'
#include <stdio.h>
#include <sys/prctl.h>
int main(void)
{
	char name[16];

	for (int i = 0; i < 50000; i++) {
		snprintf(name, sizeof name, "worker %d", i);
		prctl(PR_SET_NAME, name);
	}
	return 0;
}
C
cc -O1 -w -o "$tmp/renames" "$tmp/renames.c" || exit 1
rule "names of threads are no programs, however many there are" \
    verdict 0 'max-live 10.0 MiB: .*: within' --max-live 10M -- "$tmp/renames"
in_sandbox() {
	"$tmp/told" kill "$B/pagek" check --max-live 10M -- /bin/true 2>"$tmp/verdict"
	cat "$tmp/verdict"
	grep -q '^pagek check: max-live 10.0 MiB: ' "$tmp/verdict" &&
	    ! grep 'the node ended' "$tmp/verdict"
}
rule "a sandbox that kills who asks the kernel for that ends no node" in_sandbox
# replaced TIMES [PROGRAM]: as often a forked child runs it, after a child of its
# own, by vfork(2), has called _exit(2); and is reaped at once.
cat >"$tmp/replaced.c" <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		pid_t child = fork();

		if (child == 0 && argv[2] != NULL && vfork() == 0)
			_exit(0);
		if (child == 0 && argv[2] != NULL)
			execl(argv[2], argv[2], "0", (char *)NULL);
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return 0;
}
C
cc -O1 -fno-builtin -w -o "$tmp/replaced" "$tmp/replaced.c" || exit 1
replaced() {
	for _ in 1 2 3 4 5; do
		verdict 0 'max-live 10.0 MiB: .*: not known: 1 of [2-3] process images could not be watched: .*' \
		    --max-live 10M -- "$tmp/replaced" 1 "$1" || return 1
	done
}
rule "a static program that a child became is never within, however soon it is reaped" \
    replaced "$tmp/held"
# became PROGRAM...: a watched perl runs it without an environment, while the node
# stands still, so that it is reaped before the node can see it.
cat >"$tmp/became.pl" <<'PERL'
kill STOP => shift;
%ENV = ();
exec @ARGV;
PERL
became() {
	verdict 0 'max-live 10.0 MiB: .*: not known: 1 of [0-9]* process images could not be watched: its parent reaped it' \
	    --max-live 10M -- sh -c '
		node=$(pgrep -P $PPID | grep -vx $$)
		script=$1
		shift
		perl "$script" $node "$@"
		kill -CONT $node' sh "$tmp/became.pl" "$@"
}
if printf '6.15\n%s\n' "$(uname -r)" | sort -V -C; then
	rule "a static program that a watched one became is not within" became "$tmp/held" 0
	rule "nor is one that lacks the environment" became "$tmp/holder" 20000 1
else
	skip "Linux before 6.15 does not tell how a reaped process ended"
fi
set_user_id() {
	cc -O1 -fno-builtin -o "$tmp/suid" "$tmp/child.c" &&
	    chown 65534 "$tmp/suid" && chmod 4755 "$tmp/suid" && replaced "$tmp/suid"
}
cat >"$tmp/child.c" <<'C'
#include <stdlib.h>
int main(void) { return malloc(95 << 20) == NULL; }
C
[ "$(id -u)" != 0 ] || rule "nor is a set-user-ID program" set_user_id
if cc -m32 -O1 -fno-builtin -o "$tmp/child32" "$tmp/child.c" 2>/dev/null; then
	rule "nor is a 32-bit program" replaced "$tmp/child32"
else
	skip "a 32-bit child: the compiler makes no 32-bit programs"
fi

# crowded KIND N: a child that asks for 95 MiB where there is no mapping left for its
# areas (maps), or after N others that live (full).
cat >"$tmp/crowded.c" <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile keep;
int main(int argc, char **argv)
{
	int n = atoi(argv[2]), status = 1, end[2];
	char c, *at;

	if (pipe(end) != 0)
		return 1;
	if (strcmp(argv[1], "maps") == 0) {
		at = mmap(NULL, (size_t)n * 8192, PROT_NONE, MAP_PRIVATE |
		    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		for (int i = 0; i < n && mprotect(at + i * 8192L, 4096,
		    PROT_READ) == 0; i++)
			continue;
	} else {
		for (int i = 0; i < n; i++)
			if (fork() == 0) {
				close(end[1]);
				_exit(read(end[0], &c, 1) != 0);
			}
	}
	if (fork() == 0) {
		keep = malloc(95 << 20);
		_exit(0);
	}
	wait(&status);
	close(end[1]);
	while (wait(NULL) > 0)
		continue;
	return status != 0;
}
C
cc -O1 -fno-builtin -w -o "$tmp/crowded" "$tmp/crowded.c" || exit 1
limit=$(cat /proc/sys/vm/max_map_count)
if [ "$limit" -le 262144 ]; then
	rule "a child without memory to register makes --max-live not known" \
	    verdict 0 "max-live 10.0 MiB: .*: not known: 1 of 2 .* watched: it had no memory left to register with the node$" \
	    --max-live 10M -- "$tmp/crowded" maps "$limit"
else
	skip "a child without memory to register: the kernel allows $limit mappings"
fi
never_within_at_maximum() {
	"$B/pagek" check --max-live 10M -o "$tmp/verdict" -- "$tmp/crowded" full 500
	status=$?
	cat "$tmp/verdict"
	case $status in
	7) grep -q 'was 95.0 MiB .*: exceeded' "$tmp/verdict" ;;
	0) grep -q 'not known: [0-9]* of 502 process images could not be watched' "$tmp/verdict" ;;
	*) return 1 ;;
	esac
}
rule "a child at a node with its maximum of targets is never within" \
    never_within_at_maximum
# A busy node may let a hello wait for too long: then it is tried again.
all_answered() {
	verdict 0 "max-live 10.0 MiB: .*: within$" --max-live 10M -- \
	    "$tmp/replaced" 200 && return 0
	grep -q 'did not answer it within 50 ms' "$tmp/verdict" && return 2
	return 1
}
rule "children that only call _exit(2) leave --max-live within" \
    tries all_answered
renamed='\(a statically linked program: .*\|it ended under another name: perhaps a program that did not register\)'
rule "so is one in place of the command itself" \
    not_seen "$renamed" "exec '$tmp/held' 0"
rule "so is a program without the environment" \
    not_seen "$renamed" "(env -i /bin/true &); sleep 0.2"
# The program that began, under another name.
cat >"$tmp/renamed.c" <<'C'
#include <stdlib.h>
#include <sys/prctl.h>
int main(void)
{
	prctl(PR_SET_NAME, "another", 0, 0, 0);
	return malloc(10) == NULL;
}
C
cc -O1 -fno-builtin -w -o "$tmp/renamed" "$tmp/renamed.c" || exit 1
rule "a program that gives itself another name counts as watched" \
    verdict 0 "max-live 10.0 MiB: .*: within$" --max-live 10M -- "$tmp/renamed"
all_seen() {
	verdict 0 'max-live 100.0 MiB: was [0-9.]* [KM]iB.*: within$' \
	    --max-live 100M -- sh -c 'ls / >/dev/null; (exit 3)
	(ls / >/dev/null &); sh -c "exit 4"; (sleep 0.1; exit 1) & cat /dev/null & :'
}
rule "watched children, orphans and subshells leave --max-live within" all_seen

head -c 4001 /dev/urandom >"$tmp/noise"
rule "an incomplete list is never within" \
    verdict_once 0 "max-live 5.0 MiB: was .*not known: [0-9]* record.* lost$" \
    --max-live 5M raw:"$tmp/noise"
rule "and is status 6 with --strict" \
    verdict_once 6 "noise: not known, judged for .*INCOMPLETE$" \
    --strict --max-live 5M raw:"$tmp/noise"
rule "a list that was full is not known" \
    verdict 0 "max-blocks 1,000,000 of type=80: .*not known: the list was full" \
    --max 100 --max-blocks type=80:1000000 -- "$h" 1000 500

twice() {
	"$@" || "$@"
}
# Seen by the check within a cycle of being there, which may not be over.
lost_node() {
	"$B/pagek" check --max-live 50k -o "$tmp/verdict" -- \
	    "$h" 1000 2000 >/dev/null 2>"$tmp/stderr" &
	check=$!
	until_true 10 sh -c "'$B/pagek' targets | grep 'holder.*LIVE.*KiB'"
	"$B/pagek" targets >/dev/null
	kill_node "$(pgrep -x pageknode -P "$check")"
	wait "$check"
	[ $? = 7 ] && grep -q "max-live 50.0 KiB: .*exceeded" "$tmp/verdict"
}
rule "what was exceeded stays so though the node is lost" \
    twice lost_node
# --- baselines
base=$tmp/base.txt
rule "a baseline that is not there is written" \
    verdict 0 "baseline $base: written$" --baseline "$base" -- "$h" 1000 100
rule "and has what was held" \
    sh -c "head -n 1 '$base' | grep -qx pagek.baseline/1 &&
	grep -qx 'function 500 500000 take_many' '$base' &&
	grep -qx 'function 100 100000 take_slowly' '$base'"
rule "the same again is within" \
    verdict 0 "baseline $base: [0-9]* sums compared: within$" \
    --baseline "$base" -- "$h" 1000 100
rule "more of one function is exceeded" \
    verdict 7 "baseline function take_slowly: 293.0 KiB, of which the baseline has 97.7 KiB and allows 111.4 KiB: exceeded$" \
    --baseline "$base" -- "$h" 1000 300
rule "but not with a larger tolerance" \
    verdict 0 "baseline .*within$" \
    --tolerance 300 --baseline "$base" -- "$h" 1000 300
rule "a baseline is saved anew when that is wanted" \
    verdict 0 "baseline $base: written$" \
    --save-baseline --baseline "$base" -- "$h" 1000 300
rule "and then that is within" \
    verdict 0 "baseline .*within$" --baseline "$base" -- "$h" 1000 300
bad_file() {
	echo nonsense >"$tmp/bad"
	"$B/pagek" check --baseline "$tmp/bad" -- touch "$tmp/started" \
	    2>"$tmp/err"
	[ $? = 5 ] && [ ! -e "$tmp/started" ] &&
	    grep -q "'$tmp/bad', line 1: this is not a baseline" "$tmp/err"
}
rule "a file that is no baseline is refused before anything is started" bad_file
# The numbers are all of a line, so that nothing is unlimited by mistake.
bad_number() {
	for n in -1 +1 1.5 99999999999999999999 ''; do
		printf 'pagek.baseline/1\ntotal %s 5\n' "$n" >"$tmp/bad"
		"$B/pagek" check --baseline "$tmp/bad" -- true 2>"$tmp/err"
		[ $? = 5 ] && grep -q 'line 2: this is no' "$tmp/err" ||
			return 1
	done
}
rule "nor is one with a number that is none" bad_number
no_room() {
	"$B/pagek" check --baseline "$tmp/no/such/folder" -- \
	    touch "$tmp/started" 2>"$tmp/err"
	[ $? = 125 ] && [ ! -e "$tmp/started" ] &&
	    grep -q 'No such file or directory' "$tmp/err"
}
rule "nor is anything started where it could not be written" no_room
# The folder goes away while the command runs.
late_trouble() {
	mkdir -p "$tmp/gone"
	verdict_once "$1" "baseline .*not known, and not written: No such file" \
	    --max-live "$2" --baseline "$tmp/gone/b" -- \
	    sh -c "rmdir '$tmp/gone'; '$h' 10 200 3"
}
rule "a baseline that is not written hides no limit" \
    unless_lost late_trouble 7 1
rule "and is trouble of our own, not the command's" \
    unless_lost late_trouble 125 50M
through_link() {
	ln -sf linked "$tmp/link"
	: >"$tmp/linked"
	"$B/pagek" check --save-baseline --baseline "$tmp/link" -- \
	    "$h" 10 200 >/dev/null 2>"$tmp/verdict"
	[ $? = 0 ] && [ -L "$tmp/link" ] &&
	    head -n 1 "$tmp/linked" | grep -qx pagek.baseline/1
}
rule "a link to a baseline stays one" unless_lost through_link
incomplete_file() {
	"$B/pagek" check --baseline "$tmp/none" raw:"$tmp/noise" \
	    >"$tmp/verdict"
	[ $? = 0 ] && [ ! -e "$tmp/none" ] &&
	    grep -q 'not known, and not written: .*lost$' "$tmp/verdict"
}
rule "of data that is not whole no baseline is written" incomplete_file

# --- as data
cat >"$tmp/data.py" <<'PY'
import csv, json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "pagek.check/1" and d["verdict"] == "exceeded", d
assert d["exit"] == 7 and d["complete"] is True and d["lost"] == 0
live, age = d["limits"]
assert live["limit"] == "max-live" and live["given"] == "8M"
assert live["most"] == 8 << 20 and live["verdict"] == "exceeded"
# 10,000 blocks and what the C library takes for itself.
assert 10000000 <= live["was"] < 10100000 and live["unit"] == "bytes"
assert live["name"] == "holder" and live["pid"] > 0
assert age["verdict"] == "within" and age["exceeded_at_ms"] is None
rows = list(csv.DictReader(open(sys.argv[2], newline=""), strict=True))
assert [r["verdict"] for r in rows] == ["exceeded", "within"]
assert rows[0]["most"] == str(8 << 20) and rows[0]["complete"] == "true"
PY
data_once() {
	for f in json csv; do
		"$B/pagek" check --max-live 8M --max-age 1h:0 --format $f \
		    -o "$tmp/$f" -- "$h" 10000 0 >/dev/null 2>"$tmp/verdict"
		[ $? = 7 ] || return 1
	done
	cat "$tmp/json" >"$tmp/verdict"
	python3 "$tmp/data.py" "$tmp/json" "$tmp/csv"
}
rule "the verdict as JSON and as CSV" unless_lost data_once

# --- real programs
rule "python3 that keeps a list" \
    verdict 7 "max-live 30.0 MiB: was 3[0-9]\.[0-9] MiB .*exceeded$" \
    --max-live 30M -- env PYTHONMALLOC=malloc "$(python3 -c \
    'import sys; print(sys.executable)')" -c \
    'l = [bytearray(1000) for i in range(30000)]'
ln -sf "$(command -v redis-check-rdb)" "$tmp/redis-server"
"$B/pagek" run -b -o /dev/null -- "$tmp/redis-server" --port 0 --unixsocket \
    "$tmp/redis.sock" --save '' --dir "$tmp" >/dev/null 2>&1 &
run=$!
until_true 20 redis-cli -s "$tmp/redis.sock" ping
redis=$("$B/pagek" targets | sed -n 's/^pid:\([0-9]*\) *redis.*/\1/p')
rule "a server that idles is within" \
    verdict_once 0 "max-growth 1.0 MiB/min: was .*within$" \
    --duration 3 --max-growth 1M/min --max-live 50M "pid:$redis"
fill() {
	{ sleep 1; redis-benchmark -s "$tmp/redis.sock" -t lpush -n 200000 \
	    -P 64 -d 200 >/dev/null; } &
	verdict_once 7 "max-live 20.0 MiB: was .* at [1-9].*exceeded$" \
	    --duration 6 --max-live 20M "pid:$redis"
	status=$?
	wait $!
	return $status
}
rule "and filled it is not, and it is said when" fill
one_look() {
	"$B/pagek" check --max-live 1k --format json "pid:$redis" \
	    >"$tmp/json"
	[ $? = 7 ] && "$B/pagek" targets --format json >"$tmp/targets" &&
	    python3 - "$tmp/json" "$tmp/targets" <<'PY'
import json, sys
was = json.load(open(sys.argv[1]))["limits"][0]["was"]
t = [t for t in json.load(open(sys.argv[2]))["targets"]
     if t["name"] == "redis-server"][0]
assert abs(was - t["live_bytes"]) < 200000, (was, t)
PY
}
rule "without --duration it is one look at what is held now" one_look
dormant() {
	"$B/pagek" disarm "pid:$redis" &&
	    "$B/pagek" check --max-live 1G "pid:$redis" 2>"$tmp/err"
	[ $? = 3 ] && grep -q DORMANT "$tmp/err"
}
rule "a target that sleeps is not judged" dormant
redis-cli -s "$tmp/redis.sock" shutdown nosave

# --- wrong words
refused() {
	words=$1
	shift
	"$B/pagek" check "$@" >"$tmp/out" 2>"$tmp/err"
	[ $? = 2 ] && [ ! -s "$tmp/out" ] && cat "$tmp/err" &&
	    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q -- "$words" "$tmp/err"
}
rule "a check needs a limit" refused "needs a limit" -- true
rule "but not two" refused "not both" --max-live 1M demo:1 -- true
rule "a size is a size" refused "not a size" --max-live fifty -- true
rule "growth has a time" refused "1M/min" --max-growth 1M -- true
rule "an age has a number" refused "10m:1000" --max-age 10m -- true
rule "a wrong expression is told with its column" \
    refused "column 8: .*did you mean 'size'" \
    --max-blocks 'type=1&sise=3:4' -- true
rule "a baseline has a name" refused "needs a file" --baseline= -- true
rule "a tolerance needs a baseline" \
    refused "needs --baseline" --tolerance 5 --max-live 1M -- true
rule "a duration is for a target" \
    refused "judged to its end" --duration 5 --max-live 1M -- true

say_result
