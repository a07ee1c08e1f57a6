#!/bin/sh
# Harmless: a target behaves as without us, whatever happens to it, to its
# keeper or to the page.
. "$(dirname "$0")/lib.sh"
# The runner's: some rules leave a program hardly any descriptors.
exec 3>&-

pagek=$B/pagek

# same COMMAND...: output, exit status and error output as without us.
same() {
	"$@" >"$tmp/plain.out" 2>"$tmp/plain.err" </dev/null
	plain=$?
	"$pagek" run -b -o "$tmp/page" -- "$@" >"$tmp/ours.out" \
	    2>"$tmp/ours.err" </dev/null
	ours=$?
	[ "$plain" = "$ours" ] || { echo "status $ours, plain $plain"; return 1; }
	cmp "$tmp/plain.out" "$tmp/ours.out" && cmp "$tmp/plain.err" "$tmp/ours.err"
}

rule "ls prints what it prints without us" same ls -l /usr/bin
rule "an exit status of 3 is passed on" same sh -c 'echo out; echo err >&2; exit 3'
rule "a command that is not there is 127, as shells say" \
    sh -c "'$pagek' run -b -o /dev/null -- /no/such/command 2>'$tmp/e'; [ \$? = 127 ] && grep -q '^pagek: ' '$tmp/e'"
touch "$tmp/noexec"
rule "a file that cannot be executed is 126" \
    sh -c "'$pagek' run -b -o /dev/null -- '$tmp/noexec' 2>'$tmp/e'; [ \$? = 126 ] && grep -q '^pagek: ' '$tmp/e'"
rule "perl's sort comes out the same" same perl -e 'print join ",", sort map { ($_ * 7919) % 10007 } 1..20000'
rule "a target that kills itself is 137" \
    sh -c "'$pagek' run -b -o /dev/null --report '$tmp/r' -- sh -c 'kill -9 \$\$'; [ \$? = 137 ] && grep -q '\"comm\": *\"sh\"' '$tmp/r'"
rule "a target that crashes is 139" \
    sh -c "ulimit -c 0; '$pagek' run -b -o /dev/null --report '$tmp/r2' -- sh -c 'kill -SEGV \$\$'; [ \$? = 139 ] && [ -s '$tmp/r2' ]"
# A signal to the whole process group, as of timeout(1), meets pagek, its node
# and the command.  Here the command sends it to itself and all of them.
group() {
	expected=$1
	shift
	setsid -w "$pagek" run -b -o "$tmp/page" --report "$tmp/group.report" -- "$@" \
	    >"$tmp/ours.out" 2>"$tmp/ours.err" </dev/null
	status=$?
	cat "$tmp/ours.err"
	[ $status = "$expected" ] && [ ! -s "$tmp/ours.err" ] &&
	    [ -s "$tmp/group.report" ]
}
for sig in TERM INT HUP QUIT; do
	rule "what SIG$sig to the whole group makes of the command is told: its own status" \
	    group 7 sh -c "ulimit -c 0; trap 'exit 7' $sig; kill -$sig 0; while :; do :; done"
	rule "... also if it lets the signal pass" \
	    group 3 sh -c "trap '' $sig; kill -$sig 0; exit 3"
done
rule "... and that it has died of it" group 143 sh -c 'kill -TERM 0; exec sleep 60'
# A daemon's node may end by it; one that only has a command leaves it to that.
alone() {
	"${pagek}node" --report "$tmp/alone.report" -- perl -e \
	    '$SIG{TERM} = sub { print "got\n"; exit 5 }; open F, ">", shift; sleep 60' \
	    "$tmp/alone.ready" >"$tmp/alone.out" &
	node=$!
	until_true 10 test -e "$tmp/alone.ready" && kill "$node" && wait "$node" &&
	    grep -qx got "$tmp/alone.out" && [ -s "$tmp/alone.report" ]
}
rule "a node with a command and no page passes SIGTERM on, and ends with it" alone
rule "a pipe reader sees the end of the target's output when it ends" \
    sh -c "'$pagek' run -b -o /dev/null -- echo through | grep -qx through"
# reallocarray(3) is not valgrind's: it comes to us, with blocks that are.
cat >"$tmp/array.c" <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
int main(void)
{
	void *p = NULL;
	for (size_t i = 1; i < 100; i++)
		p = reallocarray(p, i, 24);
	free(p);
}
C
memcheck() {
	cc -o "$tmp/array" "$tmp/array.c" &&
	    same valgrind -q --error-exitcode=9 "$tmp/array"
}
rule "memcheck finds no mistake in a read of ours before a block" memcheck
rule "a daemon that outlives its parent keeps run waiting until it ends" \
    sh -c "'$pagek' run -b -o /dev/null --report '$tmp/r3' -- sh -c '(setsid sh -c \"sleep 1; echo late >$tmp/late\" >/dev/null 2>&1 &)'; grep -q late '$tmp/late'"

# A target that keeps a thousand large blocks, says so by a file, and allocates
# until it is told to stop by another.
cat >"$tmp/busy.pl" <<'PL'
my ($stop, $n) = ($ARGV[0], 0);
my @kept = map { "y" x (4000 + $_) } 1..1000;
open(my $ready, ">", "$stop.ready") or die;
until (-e $stop) { my @a = map { "x" x ($_ % 300) } 1..400; $n += @a; }
print "made $n\n";
PL

# busy NAME: starts it under pagek in the background.
busy() {
	rm -f "$tmp/stop"
	"$pagek" run -b -o "$tmp/$1.page" --report "$tmp/$1.report" -- \
	    perl "$tmp/busy.pl" "$tmp/stop" >"$tmp/$1.out" 2>"$tmp/$1.err" &
	run=$!
	until_true 10 grep -q perl "$tmp/$1.page"
}

# The node's own process: below its supervisor, which is run's child.
node_of() {
	pgrep -P "$(pgrep -P "$1" -x pageknode)" -x pageknode
}

killed_keeper() {
	busy kk || return 1
	kill -9 "$(node_of $run)" || return 1
	touch "$tmp/stop"
	until_true 20 grep -q '^made [1-9]' "$tmp/kk.out"
}
rule "a killed keeper does not disturb the target, which runs to its end" killed_keeper

stopped_keeper() {
	busy sk || return 1
	node=$(node_of $run)
	kill -STOP "$node" || return 1
	touch "$tmp/stop"
	until_true 20 grep -q '^made [1-9]' "$tmp/sk.out" || { kill -CONT "$node"; return 1; }
	kill -CONT "$node"
	wait $run || return 1
	grep '"comm": *"perl"' "$tmp/sk.report" | grep -q '"complete": *\(true\|false\)'
}
rule "a stopped keeper does not hold the target for ever" stopped_keeper

stopped_page() {
	busy sp || return 1
	kill -STOP $run
	touch "$tmp/stop"
	until_true 20 grep -q '"comm": *"perl".*"complete": *true' "$tmp/sp.report" ||
	    { kill -CONT $run; return 1; }
	kill -CONT $run
	wait $run
}
rule "a stopped page stops neither target nor keeper: nothing is lost" stopped_page

killed_page() {
	busy kp || return 1
	kill -9 $run
	touch "$tmp/stop"
	until_true 20 grep -q '^made [1-9]' "$tmp/kp.out" &&
	    until_true 20 grep -q '"comm": *"perl".*"complete": *true' "$tmp/kp.report"
}
rule "a killed page stops neither target nor keeper" killed_page

# A viewer that comes late and one that comes twice see every block.
comes_back() {
	rm -f "$tmp/stop" "$tmp/stop.ready"
	"$pagek" run -b -o /dev/null -- perl "$tmp/busy.pl" "$tmp/stop" >/dev/null &
	run=$!
	until_true 20 test -e "$tmp/stop.ready" || return 1
	"$pagek" targets >"$tmp/targets"
	pid=$(sed -n 's/.*pid:\([0-9]*\) *perl.*/\1/p' "$tmp/targets" | head -n 1)
	"$pagek" list --format json "pid:$pid" >"$tmp/late.json"
	status=$?
	touch "$tmp/stop"
	wait $run
	[ $status = 0 ] && python3 - "$tmp/late.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "pagek.blocks/2" and d["complete"] is True, d
kept = sorted(b["size"] for b in d["blocks"] if 4000 < b["size"] < 5100)
assert len(set(kept)) >= 100 and len(kept) >= 1000, (len(set(kept)), len(kept))
PY
}
rule "a viewer that comes late sees every block since the start" comes_back

# What cannot be watched runs undisturbed and is shown with the reason.
cat >"$tmp/hello.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *p = malloc(100);
	strcpy(p, "hello");
	if (argc > 1)
		while (access(argv[1], F_OK) != 0)
			usleep(20000);
	printf("%s\n", p);
	free(p);
	return 7;
}
C
# no_data KIND REASON GCC-OPTION...: $under is a command that it is run by.
under=
no_data() {
	kind=$1 reason=$2
	shift 2
	gcc "$@" -o "$tmp/hello" "$tmp/hello.c" || return 1
	[ "$kind" = setuid ] && { chown nobody "$tmp/hello" && chmod 4755 "$tmp/hello" && chmod 755 "$tmp" || return 1; }
	rm -f "$tmp/stop"
	"$pagek" run -b -o /dev/null -- $under "$tmp/hello" "$tmp/stop" >"$tmp/nd.out" 2>"$tmp/nd.err" &
	run=$!
	until_true 10 sh -c "'$pagek' targets | grep -q 'NO DATA.* $reason'"
	seen=$?
	"$pagek" targets
	touch "$tmp/stop"
	wait $run
	status=$?
	cat "$tmp/nd.err"
	[ $seen = 0 ] && [ $status = 7 ] && [ "$(cat "$tmp/nd.out")" = hello ]
}
rule "a static program runs undisturbed and is shown as NO DATA" no_data static "statically linked" -static
if echo 'int main(void){return 0;}' | gcc -m32 -x c - -o "$tmp/m32" 2>/dev/null; then
	rule "a 32-bit program runs undisturbed and is shown as NO DATA" no_data 32 "32-bit" -m32
else
	skip "gcc makes no 32-bit program here: none is watched"
fi
rule "a program with AddressSanitizer inside runs undisturbed and is shown as NO DATA" \
    no_data asan "malloc of its own" -fsanitize=address -static-libasan
rule "the same with AddressSanitizer as a library, which insists on coming first" \
    no_data asan sanitizer -fsanitize=address
rule "a program under ThreadSanitizer likewise" no_data tsan sanitizer -fsanitize=thread
# A bump allocator; the linker exports it because libc calls these functions.
cat >"$tmp/bump.c" <<'C'
#include <stddef.h>
#include <string.h>
static char room[1 << 20];
static size_t used;
void *malloc(size_t n)
{
	char *p = room + used;
	used += (n + 15) & ~(size_t)15;
	return p;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t n) { return p == NULL ? malloc(n) : memcpy(malloc(n), p, n); }
C
rule "a program with a malloc of its own likewise, with that reason" \
    no_data own "malloc of its own" -fno-builtin "$tmp/bump.c"
# It ends before any scan of processes: only the library can tell.
# hidden NAME COMMAND...: NAME has no list, with the reason, and one line.
hidden() {
	name=$1
	shift
	"$pagek" run -b -o /dev/null --report "$tmp/hidden" -- "$@" || return 1
	cat "$tmp/hidden"
	[ "$(grep -c "\"comm\": \"$name" "$tmp/hidden")" = 1 ] &&
	    grep "\"comm\": \"$name" "$tmp/hidden" |
		grep -q '"complete": false, "reason": "it has a malloc of its own'
}
gcc -o "$tmp/brief" -fno-builtin "$tmp/bump.c" -x c - <<'C' || exit 1
#include <stdlib.h>
int main(void) { return malloc(10) == NULL; }
C
gcc -o "$tmp/plain" -fno-builtin -x c - <<'C' || exit 1
#include <stdlib.h>
int main(void) { return malloc(10) == NULL; }
C
gcc -shared -fPIC -fno-builtin -o "$tmp/bump.so" "$tmp/bump.c" || exit 1
rule "so does one that ends at once" hidden brief sh -c "'$tmp/brief'; :"
rule "so does a program with another malloc preloaded before the library" \
    hidden plain sh -c "LD_PRELOAD=$tmp/bump.so:\$LD_PRELOAD '$tmp/plain'; :"
rule "so does one whose malloc valgrind rewrites" \
    hidden memcheck valgrind -q "$tmp/plain"
# Runs a command that may open no socket.
cat >"$tmp/alone.c" <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof f / sizeof f[0], f };
	(void)argc;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0);
	execvp(argv[1], argv + 1);
	return 1;
}
C
gcc -o "$tmp/alone" "$tmp/alone.c"
under=$tmp/alone
rule "a program in a sandbox without sockets likewise" no_data seccomp sandboxed -O1
under="prlimit --nofile=4"
rule "... and one that has a descriptor for the socket alone" \
    no_data descriptors "no free descriptor" -O1
under=
if [ "$(id -u)" = 0 ]; then
	rule "a setuid program runs undisturbed and is shown as NO DATA" no_data setuid set-user-ID -O1
else
	skip "only root can make a setuid program: none is watched"
fi

corrupt() {
	"$pagek" run -b -o "$tmp/corrupt.page" --report "$tmp/corrupt.report" -- \
	    "$B/tests/targets/corrupt" >"$tmp/corrupt.out" || return 1
	grep -qx done=1 "$tmp/corrupt.out" || return 1
	grep -q '^K MEMORY BLOCKS.*CORRUPT' "$tmp/corrupt.page" || return 1
	grep -q 'INCOMPLETE >=[1-9]' "$tmp/corrupt.page" || return 1
	grep '"comm": *"corrupt"' "$tmp/corrupt.report" | grep -q '"complete": *false'
}
rule "a target that damages its ring is detached as CORRUPT; it and the page live on" corrupt

# peculiar WHAT [OPTION...]: what it prints under pagek; the report is kept.
peculiar() {
	what=$1
	shift
	"$pagek" run -b -o /dev/null --report "$tmp/peculiar.report" "$@" -- \
	    "$B/tests/targets/peculiar" "$what" >"$tmp/peculiar.out"
	status=$?
	cat "$tmp/peculiar.out"
	return $status
}
strict() {
	peculiar strict "$@" | grep -qx made=200000
}
for o in "" --dormant "--sample 512k" "--stack 0"; do
	rule "who may only read and write is not killed for our system calls${o:+: $o}" \
	    strict $o
done
strict_lost() {
	strict && grep '"comm": *"peculiar"' "$tmp/peculiar.report" |
	    grep -q '"lost": *[4-9][0-9][0-9][0-9][0-9][0-9]'
}
rule "and what it does in there is counted as lost" strict_lost
listed() {
	peculiar listed "$@" | grep -qx made=1200000
}
for o in "" --dormant "--sample 512k" "--stack 64 --free-stack"; do
	rule "who may call what alloclog(3) names is not killed for another call${o:+: $o}" \
	    listed $o
done
sealed() {
	peculiar seal | grep -qx held=300000 &&
	    grep '"comm": *"peculiar"' "$tmp/peculiar.report" | grep -q '"lost": *0,'
}
rule "a program that is killed for mprotect(2) has large rings all the same" sealed
rule "a close(2) of the program's own, and a lock of it, are left alone" \
    sh -c "'$pagek' run -b -o /dev/null -- '$B/tests/targets/peculiar' close | grep -qx child=0"
# The parent of each is another: memory that is mapped over is not mapped anew.
forks() {
	peculiar forks >/dev/null && sort -u -t= -k2n "$tmp/peculiar.out" |
	    awk -F= 'NR == 1 { first = $2 } { last = $2 } END { exit !(NR > 1 && last - first < 100000) }'
}
rule "a row of processes that fork each other takes no more and more addresses" forks
# limited BYTES OPTION...: MB that a program gets within such a limit.
limited() {
	bytes=$1
	shift
	"$pagek" run -b -o "$tmp/limited.page" "$@" -- \
	    prlimit --as="$bytes" "$B/tests/targets/peculiar" fill |
	    sed -n 's/^got=//p'
}
keeps_addresses() {
	plain=$(prlimit --as=200000000 "$B/tests/targets/peculiar" fill |
	    sed -n 's/^got=//p')
	ours=$(limited 200000000 "$@")
	echo "$plain MB without us, $ours with us"
	[ "$ours" -ge $((plain - 2)) ] && grep -q RLIMIT_AS "$tmp/limited.page"
}
for o in "" --dormant "--sample 512k"; do
	rule "who may have few addresses keeps them, and it is said that nobody watches${o:+: $o}" \
	    keeps_addresses $o
done
far_limit() {
	limited 1500000000 && ! grep -q RLIMIT_AS "$tmp/limited.page"
}
rule "who may have many is watched" far_limit
# Without us 2 MiB; all of what is mapped would be 88.
locks() {
	peculiar lock "$@" >/dev/null && grep -qx held=300000 "$tmp/peculiar.out" &&
	    [ "$(sed -n 's/^rss=//p' "$tmp/peculiar.out")" -lt 48000 ] &&
	    grep '"comm": *"peculiar"' "$tmp/peculiar.report" | grep -q '"live_blocks": *3000'
}
if [ "$(id -u)" = 0 ]; then
	rule "a program that locks its memory locks little of ours, and all is logged" locks
	rule "the same without stacks" locks --stack 0
else
	skip "only root may lock so much: mlockall"
fi

# --- wrappers and allocators ---------------------------------------------------

# What a program sees of its limits, signals and descriptors, and what it does.
cat >"$tmp/probe.c" <<'C'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static void show(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			fputs(line, stdout);
	if (f != NULL)
		fclose(f);
}
int main(int argc, char **argv)
{
	char *kept[1000], text[64] = "";
	struct rlimit l;
	struct dirent *e;
	DIR *d;
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit(i, &l) == 0)
			printf("limit %d %llu %llu\n", i, (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
	show("SigBlk"); show("SigIgn"); show("SigCgt"); show("Threads"); show("NoNewPrivs");
	d = opendir("/proc/self/fd");
	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			printf("fd %s\n", e->d_name);
	if (d != NULL)
		closedir(d);
	printf("umask %o nice %d tty %d\n", umask(0), getpriority(PRIO_PROCESS, 0), isatty(0));
	for (int i = 0; i < 1000; i++) {
		kept[i] = malloc(i + 1);
		memset(kept[i], i, i + 1);
		kept[i] = realloc(kept[i], 2 * i + 1);
	}
	for (int i = 0; i < 1000; i++) {
		if (kept[i][i] != (char)i)
			abort();
		free(kept[i]);
	}
	if (fgets(text, sizeof text, stdin) != NULL)
		printf("read %s", text);
	fflush(stdout);
	if (fork() == 0) {
		printf("child of %s\n", argc > 1 ? argv[1] : "nothing");
		fflush(stdout);
		execlp("sh", "sh", "-c", "ulimit -n; ulimit -s; ulimit -v; exit 4", (char *)NULL);
		_exit(9);
	}
	int st = 0;
	wait(&st);
	fprintf(stderr, "child %d\n", WEXITSTATUS(st));
	return 3;
}
C
gcc -O1 -g -o "$tmp/probe" "$tmp/probe.c"

# Numbers that differ from run to run.
settle() {
	sed -E 's/(process) [0-9]+/\1 N/; s/^==[0-9]+==/==N==/' "$1" >"$1.settled"
}
# alike WAY COMMAND...: the same of the program with and without us.  WAY is inner:
# pagek runs COMMAND, which runs the program; outer: COMMAND runs pagek; both.
alike() {
	way=$1
	shift
	echo line | "$@" "$tmp/probe" a >"$tmp/plain.out" 2>"$tmp/plain.err"
	plain=$?
	[ "$way" = outer ] || { echo line | timeout 60 "$pagek" run -b -o /dev/null -- "$@" \
	    "$tmp/probe" a >"$tmp/ours.out" 2>"$tmp/ours.err"; compared inner $?; } || return 1
	[ "$way" = inner ] || { echo line | timeout 60 "$@" "$pagek" run -b -o /dev/null -- \
	    "$tmp/probe" a >"$tmp/ours.out" 2>"$tmp/ours.err"; compared outer $?; }
}
compared() {
	[ "$plain" = "$2" ] || { echo "$1: status $2, plain $plain"; return 1; }
	for f in plain.out plain.err ours.out ours.err; do
		settle "$tmp/$f"
	done
	diff "$tmp/plain.out.settled" "$tmp/ours.out.settled" &&
	    diff "$tmp/plain.err.settled" "$tmp/ours.err.settled"
}
lib=/usr/lib/$(uname -m)-linux-gnu
preload="sh -c 'LD_PRELOAD=\$0:\$LD_PRELOAD exec \"\$@\"'"
# Valgrind and gdb do not follow pagek to its command, or tell of it; a frozen clock
# would stop pagek's own.
cat >"$tmp/table" <<T
both env
both env -i PATH=$PATH
both nice -n 1
both setsid -w
both stdbuf -oL
both timeout 100
both setpriv --no-new-privs
both prlimit --nofile=64:64 --stack=1000000 --core=0 --as=4000000000
inner faketime -f '2020-01-01 00:00:00'
both strace -f -o /dev/null
inner gdb -q -batch -ex run --args
inner valgrind -q
inner valgrind -q --tool=massif --massif-out-file=/dev/null
both fakeroot
both bwrap --dev-bind / / --unshare-all --die-with-parent
both unshare -r -m -n
both unshare -r -m -p -f --kill-child
both unshare -r -m -p -f --kill-child --mount-proc
both $preload $lib/libjemalloc.so.2
both $preload $lib/libtcmalloc_minimal.so.4
both $preload $lib/libmimalloc.so.2
both $preload $lib/libtbbmalloc_proxy.so.2
both $preload $lib/libc_malloc_debug.so.0
inner $preload /usr/lib/libefence.so.0
T
# What a container may forbid is tried without us first.
while read -r way words; do
	if eval "$words true" >"$tmp/may" 2>&1 </dev/null; then
		rule "a program behaves the same, $way: $words" \
		    eval "alike $way $words" </dev/null
	else
		skip "this machine does not run: $words true ($(head -n 1 "$tmp/may"))"
	fi
done <"$tmp/table"

# A host that is not C++, and plugins that are.
plugins=$B/tests/plugins
rule "a plugin's constructor may wait for a thread that calls new first" \
    same timeout 60 "$plugins/host" open "$plugins/waits.so"
rule "a plugin's first new leaves what dlerror(3) has to say" \
    same "$plugins/host" error "$plugins/plain.so"
rule "a plugin with operators of a library's own gets those" \
    same "$plugins/host" open "$plugins/mine.so" "$plugins/needs.so"
rule "the C++ library's own calls lead to the operators of the plugin that brought it" \
    same "$plugins/host" open "$plugins/brings.so"
rule "a plugin with a C++ library of its own gets that" \
    same "$plugins/host" open "$plugins/static.so"
rule "a library that is there at the start and has operators for arrays alone keeps them" \
    same "$plugins/arrays_host" open "$plugins/arrays.so" "$plugins/plain.so"
rule "a plugin that is loaded before us frees what it allocates where malloc is the program's" \
    same env PLUGIN="$plugins/plain.so" "$plugins/own"
turns() {
	set -- "$plugins/host" turns "$plugins/mine.so" "$plugins/other.so" \
	    "$plugins/plain.so" "$plugins/mine.so"
	"$@" | grep -v place >"$tmp/turns.plain" || return 1
	"$pagek" run -b -o /dev/null -- "$@" >"$tmp/turns.out" || return 1
	grep -q 'same place=1' "$tmp/turns.out" || return 1
	grep -v place "$tmp/turns.out" | cmp - "$tmp/turns.plain"
}
rule "plugins with operators of their own are unloaded, and who takes their place has its own" turns

say_result
