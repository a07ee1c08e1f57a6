#!/bin/sh
# pagek stats, dump, history and diff over dumps: the examples of the eCos text,
# byte for byte in what is fixed, and what is refused.  The dumps are made from
# the addresses of real executables.  Needs g++ -m32 for the examples' words.
set -u
. "$(dirname "$0")/lib.sh"
here=$top/tests/live
cd "$tmp" || exit 1

cat >consume.cc <<'CC'
#include "include/box.h"
typedef unsigned char cyg_uint8;
struct Large { char bytes[1024]; };
extern "C" void *malloc(unsigned n) { static char b[99]; return b + n; }
extern "C" void free(void *) {}
void *operator new(unsigned long n) { return malloc(n); }
void *allocs[4];
struct Cyg_StdioStreamBuffer {
	cyg_uint8 *malloced_buf;
	int set_buffer(unsigned size, cyg_uint8 *);
};
int
Cyg_StdioStreamBuffer::set_buffer(unsigned size, cyg_uint8 *)
{
        malloced_buf = (cyg_uint8 * )malloc( size );
	return 1;
}
void
worker1(int size)
{
            allocs[0]    = malloc(size);
            allocs[1]    = malloc(sizeof(Large));
            allocs[2]    = box(size);
            free(allocs[0]);
}
extern "C" void
_start()
{
	Cyg_StdioStreamBuffer s;
	s.set_buffer(3, 0);
	worker1(4);
	for (;;)
		continue;
}
CC
sed -i '/operator new/d' consume.cc
mkdir include
cat >include/box.h <<'CC'
extern "C" void *malloc(unsigned);
extern "C" void free(void *);
static inline __attribute__((always_inline)) void *
box(int n)
{
	return malloc(n + 1);
}
CC
board='-g -O0 -fno-builtin -ffreestanding -nostdlib -static -fno-exceptions
    -fno-pie -no-pie -fno-stack-protector -fno-asynchronous-unwind-tables'
g++ -m32 $board -Wl,--build-id -Wl,-Ttext=0x41000 -o consume \
    "$tmp/consume.cc" >"$tmp/cc.log" 2>&1 || {
	cat "$tmp/cc.log"
	skip "dumps with words of 32 bits: there is no g++ -m32"
	say_result
	exit
}
sed 's/sizeof(Large)/5 * sizeof(Large)/' consume.cc >other.cc
mkdir other
g++ -m32 $board -Wl,--build-id -Wl,-Ttext=0x41000 -o other/consume other.cc

cat >pie.cc <<'CC'
#include <cstdlib>
void *kept;
__attribute__((noinline)) void worker3(int n) { kept = std::malloc(n); }
int main(int argc, char **) { worker3(argc); }
CC
g++ -g -O1 -fno-builtin -fpie -pie -Wl,--build-id -o pie "$tmp/pie.cc"
sed 's/malloc(n)/malloc(n + 1)/' pie.cc >pie2.cc
g++ -g -O1 -fno-builtin -fpie -pie -Wl,--build-id -o pie2 pie2.cc

cat >thumb.c <<'C'
void *kept[2];
__attribute__((noinline)) void *malloc(unsigned n) { return kept + n; }
__attribute__((noinline)) void worker2(void)
{
	kept[0] = malloc(17);
	kept[1] = malloc(18);
}
void _start(void) { worker2(); }
C
clang --target=arm-none-eabi -mcpu=cortex-m3 -mthumb -g -O1 -ffreestanding \
    -fno-builtin -c -o thumb.o "$tmp/thumb.c" 2>/dev/null &&
    ld.lld -Ttext=0x40000 -o thumb thumb.o 2>/dev/null

python3 "$here/mdd_cmd.py" "$tmp" || exit 1

# prints STATUS WORDS COMMAND...: that status, and the words on standard error.
prints() {
	expected=$1 words=$2
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	echo "status $status"
	cat "$tmp/err"
	[ $status = "$expected" ] || return 1
	if [ -z "$words" ]; then
		[ ! -s "$tmp/err" ]
	else
		grep -qF -e "$words" "$tmp/err"
	fi
}
# says WANT COMMAND...: the output is the file's.
says() {
	text=$1
	shift
	prints 0 '' "$@" && diff "$text" "$tmp/out"
}
line_of() {
	grep -nF "$2" "$1" | head -n 1 | cut -d: -f1
}
pagek=$B/pagek
ln -s "$B/pagek" "$tmp/ecosmdd"

# --- the examples of the text ---------------------------------------------------

cat >want <<'TEXT'
stats.0: statistics
Heap      : 0x00097d68 to 0x01ffffff, size 32160K (32932504 bytes)
History   : 132773 memory allocations, 130257 frees
Current   : 1268K (1298850 bytes) used in 2516 allocations
Actual    : approximately 1508K (1544784 bytes)
Overhead  : approximately 240K (245934 bytes), 15%
Debugdata : approximately 107K (110280 bytes) static, 92K (94628 bytes) dynamic
          : (debug data is in addition to other overheads)
Allocators:
            malloc() 1009
            new(nothrow) 788
            new(nothrow)[] 451
            calloc() 251
            realloc() 17
Threads   :
        1 : handle 0x00075670, Idle Thread
        2 : handle 0x00093af8, main
        3 : handle 0x000739b0, thread_0
        4 : handle 0x00073a50, thread_1
        5 : handle 0x00073af0, thread_2
        6 : handle 0x00073b90, thread_3
Options   : actual_size enabled, time stamps enabled, thread info enabled
          : backtrace enabled, 1 levels
          : history enabled, 2048 records max
TEXT
rule "stats prints the text's example" says want "$pagek" stats stats.0

cc=$tmp/consume.cc
buffer=$("$pagek" dump -f %b1 -Fseqno_max=0 mddout.0)
small=$("$pagek" dump -f %b1 -Fsize_max=13 mddout.0)
large=$("$pagek" dump -f %b1 -Fsize_min=1024 mddout.0)
set_buffer="Cyg_StdioStreamBuffer::set_buffer(unsigned int, unsigned char*)"
# the_call ADDRESS FUNCTION TEXT: the lines of a backtrace.
the_call() {
	cat <<TEXT
  1) backtrace $1 function $2
     $cc:$(line_of "$cc" "$3")
     "$(sed -n "$(line_of "$cc" "$3")p" "$cc")"
TEXT
}
first_call() { the_call "$buffer" "$set_buffer" '(cyg_uint8 * )malloc'; }
small_call() { the_call "$small" 'worker1(int)' 'malloc(size)'; }
large_call() { the_call "$large" 'worker1(int)' 'malloc(sizeof(Large))'; }
{
	cat <<TEXT
0x00097d78 : malloc() 256 bytes, actual size 272 (+16), seqno 0, time 0
  By thread 1, 0x00075670 Idle Thread
$(first_call)
0x000c0f50 : malloc() 13 bytes, actual size 32 (+19), seqno 229605, time 3960
  By thread 3, 0x000739b0 thread_0
$(small_call)
0x000c0f70 : new(nothrow) 1024 bytes, actual size 1040 (+16), seqno 251083, time 4329
  By thread 5, 0x00073af0 thread_2
$(large_call)
TEXT
} >want
cp want want-dump
rule "dump with the executable prints the text's example" \
    says want "$pagek" dump consume mddout.0

cat >want <<TEXT
0x00097d78 : malloc() 256 bytes, actual size 272 (+16), seqno 0, time 0
  By thread 1, 0x00075670 Idle Thread
  1) backtrace return address $buffer
TEXT
rule "and without it" says want "$pagek" dump -Fseqno_max=0 mddout.0

cat >want <<'TEXT'
0x002a43e8 malloc() 1553 @ 4079
0x000f9308 malloc() 1139 @ 4149
0x000c2a80 new(nothrow) 1024 @ 4104
0x00275678 new(nothrow) 128 @ 4013
0x00238c40 new(nothrow) 128 @ 4104
0x0023f7a8 new(nothrow) 128 @ 4194
TEXT
rule "dump filters, sorts and formats as in the text" says want "$pagek" dump \
    -Fthread=4 -Ftime_min=4000 -Ftime_max=4200 -SNs -f '%p %a %n @ %T' sorted.0

cat >want <<TEXT
Caution: history is incomplete.

malloc() 256 bytes: 0x00097d78 , actual size 272 (+16), seqno 0, time 0
  By thread 1, 0x00075670 Idle Thread
$(first_call)
malloc() 131072 bytes: 0x00097e88 (freed) , actual size 131088 (+16), seqno 1, time 0
  By thread 2, 0x00093af8 main
$(small_call)
new(nothrow) 16 bytes: 0x00319270 (freed) , actual size 32 (+16), seqno 223425, time 3851
  By thread 3, 0x000739b0 thread_0
$(large_call)
delete 16 bytes: 0x00319270 , actual size 32 (+16), seqno 258950, time 4461
  By thread 5, 0x00073af0 thread_2
$(the_call "$("$pagek" history -f %b1 -Fthread=5 history.0 | tail -n 1)" \
    'worker1(int)' 'free(allocs[0])')
free() 131072 bytes: 0x00097e88 , actual size 131088 (+16), seqno 263029, time 4999
  By thread 2, 0x00093af8 main
$(small_call)
TEXT
rule "history prints the text's example" says want "$pagek" history consume \
    history.0

cat >want <<'TEXT'
Caution: history is incomplete.

free() 0x00097e88, 131072 bytes, seqno 263029
delete 0x00319270, 16 bytes, seqno 258950
new(nothrow) 0x00319270, 16 bytes, seqno 223425
malloc() 0x00097e88, 131072 bytes, seqno 1
malloc() 0x00097d78, 256 bytes, seqno 0
TEXT
rule "and backwards in a format" says want "$pagek" history -r \
    -f '%a %p, %n bytes, seqno %s' consume history.0

cat >want <<TEXT
File diff.1 : 1496K (1532048 bytes) used in 2 allocations.
File diff.2 : 1496K (1532276 bytes) used in 3 allocations.
2 new allocations in diff.2 but not in diff.1
1 allocations in diff.1 but freed in diff.2

New allocations in diff.2 but not in diff.1
0x000ba8a8 : new(nothrow)[] 228 bytes, actual size 256 (+28), seqno 11001, time 214
  By thread 3, 0x000739b0 thread_0
$(small_call)
0x000ba9a8 : new(nothrow) 128 bytes, actual size 144 (+16), seqno 11528, time 222
  By thread 5, 0x00073af0 thread_2
$(large_call)
Allocations in diff.1 but freed in diff.2
0x000ba9a8 : new(nothrow) 128 bytes, actual size 144 (+16), seqno 8213, time 162
  By thread 5, 0x00073af0 thread_2
$(large_call)
TEXT
rule "diff prints the text's example: a reused address is another block" \
    says want "$pagek" diff consume diff.1 diff.2

cat >want <<'TEXT'
File diff.1 : 1496K (1532048 bytes) used in 2 allocations.
File diff.2 : 1496K (1532276 bytes) used in 3 allocations.
2 new allocations in diff.2 but not in diff.1
1 allocations in diff.1 but freed in diff.2

New allocations in diff.2 but not in diff.1
228 bytes at 0x000ba8a8 by worker1(int)

Allocations in diff.1 but freed in diff.2
TEXT
rule "and with a filter, a format and an order" says want "$pagek" diff \
    -Fsize_min=200 -f '%n bytes at %p by %f1' -SN consume diff.1 diff.2

# --- formats ---------------------------------------------------------------------

shown() {
	"$pagek" dump --show-format consume mddout.0 >format &&
	    says want-dump "$pagek" dump -f "$(cat format)" consume mddout.0 &&
	    [ "$("$pagek" dump --show-format)" = "$(cat format)" ]
}
rule "--show-format prints the string of the usual output" shown
cat >want <<TEXT
0x00097d78 : malloc() 256 bytes, 272 (+16), seqno 0, time 0
 By thread 1, 0x00075670 Idle Thread
 1) backtrace $buffer function $set_buffer
 $cc:$(line_of "$cc" '(cyg_uint8 * )malloc')
 "        malloced_buf = (cyg_uint8 * )malloc( size );"
TEXT
rule "the string of the text prints what it says" says want "$pagek" dump -f \
    '%p : %a %n bytes, %m (+%o), seqno %s, time %T\n By thread %t, %h %N\n 1) backtrace %b1 function %f1\n %w1\n \"%l1\"' \
    -Fseqno_max=0 consume mddout.0
same_name() {
	says want-dump ./ecosmdd dump consume mddout.0 &&
	    prints 2 'ecosmdd needs one of its commands' ./ecosmdd &&
	    prints 2 'ecosmdd needs one of its commands' ./ecosmdd list
}
rule "ecosmdd is the same program, with these commands alone" same_name
data() {
	for format in json ndjson csv; do
		"$pagek" dump --format=$format consume mddout.0 >out.$format ||
		    return 1
	done
	python3 - <<'PY'
import csv
import json
whole = json.load(open("out.json"))
lines = [json.loads(line) for line in open("out.ndjson")]
rows = list(csv.DictReader(open("out.csv")))
assert whole["schema"] == "pagek.dump/1" and whole["complete"]
assert [b["size"] for b in whole["allocations"]] == [256, 13, 1024]
assert [int(r["size"]) for r in rows] == [256, 13, 1024]
assert whole["allocations"][1]["function"] == "worker1(int)"
assert whole["allocations"][1]["time_ms"] == 39600
assert lines[1:] == whole["allocations"], (lines, whole)
PY
}
rule "JSON, its lines and CSV have the same rows" data
difference() {
	"$pagek" dump --format=json diff.1 >a.json &&
	    "$pagek" dump --format=json diff.2 >b.json &&
	    "$pagek" diff --format=json diff.1 diff.2 >diff.json &&
	    python3 - <<'PY'
import json
a, b, d = (json.load(open(n + ".json")) for n in ("a", "b", "diff"))
a, b = ({r["seqno"] for r in x["allocations"]} for x in (a, b))
got = {c: {r["seqno"] for r in d["allocations"] if r["change"] == c}
       for c in ("new", "freed")}
assert got == {"new": b - a, "freed": a - b}, got
PY
}
rule "diff is the difference of the sets" difference
named() {
	[ "$("$pagek" dump --filter 'function=worker1*' -f %n consume \
	    mddout.0)" = '13
1024' ] && prints 2 'need the executable' "$pagek" dump \
	    --filter function=worker1 mddout.0
}
rule "--filter may ask for functions, if their names are known" named

stopped() {
	prints 0 '1 events are not in it, and 1 are unsure: 0x00097d78' \
	    "$pagek" dump busy.0 && grep -q '^0x00097d78 : malloc()' "$tmp/out" &&
	    "$pagek" dump --format=json busy.0 2>"$tmp/err" |
	    grep -q '"size": 256,.*"unsure": true'
}
rule "a block in change is printed, and named as unsure" stopped

# --- several files -----------------------------------------------------------------

logged() {
	says log "$pagek" history -f '%a %p %s' log.0 log.1 log.2 log.3
}
rule "history over several files is the whole log" logged
rule "without the first one it is incomplete" sh -c \
    "'$pagek' history -f %s log.1 log.2 log.3 | grep -q ^Caution"
rule "files in another order are refused" prints 2 "'log.0' is older than" \
    "$pagek" history log.1 log.0
rule "so are those of two runs" prints 2 "are from different runs of the program" \
    "$pagek" diff mddout.0 other-run.0

# --- lines ---------------------------------------------------------------------------

# what_line LINE OPTION...: of the call in an inlined function.
what_line() {
	line=$1
	shift
	"$pagek" dump -f '%f1 %w1' "$@" consume inlined.0 >out
	cat out
	grep -q "^worker1(int) .*$line\$" out
}
in_file=consume.cc:$(line_of "$cc" 'box(size)')
rule "lines of headers are skipped for better ones" what_line "$in_file"
rule "not with -n" what_line "include/box.h:$(line_of include/box.h \
    'malloc(n + 1)')" -n
rule "nor with another pattern" what_line "include/box.h:$(line_of \
    include/box.h 'malloc(n + 1)')" -I\*.hh
rule "which may have blanks around it" what_line "$in_file" -I '*.h'

cat >fake-objdump <<'SH'
#!/bin/sh
addr=$(cat "$(dirname "$0")/address")
printf '\nconsume:     file format\n\n00041000 <from_objdump(int)>:\n'
printf 'from_objdump():\n/nowhere/x.cc:12 (discriminator 3)\n'
printf '   %x:\tcall 0x1234\n   %x:\tnop\n' $((addr - 5)) $((addr))
SH
chmod +x fake-objdump
echo "$small" >address
cat >want <<'TEXT'
from_objdump(int) /nowhere/x.cc:12
TEXT
from_objdump() {
	strip -o bare consume && PATH=$tmp:$PATH says want "$pagek" dump \
	    -Afake -f '%f1 %w1' -Fsize_max=13 bare mddout.0
}
rule "-A runs PREFIX-objdump where the reader finds nothing" from_objdump
rule "and says that it cannot" prints 0 "cannot run 'deepthought-elf-objdump'" \
    "$pagek" dump -Adeepthought-elf bare mddout.0

if [ -e thumb.0 ]; then
	printf 'worker2 %s:5\nworker2 %s:6\n' "$tmp/thumb.c" "$tmp/thumb.c" >want
	rule "addresses of Thumb functions are found without their lowest bit" \
	    says want "$pagek" dump -f '%f1 %w1' thumb thumb.0
else
	skip "an ARM executable: there is no clang and ld.lld for it"
fi
echo "worker3(int) $tmp/pie.cc:3" >want
rule "a program that was mapped anywhere is found by its mappings" \
    says want "$pagek" dump -f '%f1 %w1' pie pie.0
rule "--symbols takes the files that were mapped" \
    says want "$pagek" dump -f '%f1 %w1' --symbols pie.0
gone() {
	mv pie pie.away
	prints 0 'could not be read' "$pagek" dump -f '%f1' --symbols pie.0
	result=$?
	mv pie.away pie
	return $result
}
rule "and says if they are gone" gone
unnamed() {
	"$pagek" dump pie.0 | grep -q '1) backtrace return address 0x5555'
}
rule "and without either there are addresses alone" unnamed
another() {
	prints 2 'its build id is' "$pagek" dump pie other-pie.0 &&
	    prints 2 'of 64 bits' "$pagek" dump pie mddout.0
}
rule "an executable with another build id is refused" another

# --- mistakes --------------------------------------------------------------------------

lacking() {
	prints 2 'option ACTUAL_SIZE' "$pagek" dump -f %m least.0 &&
	    prints 2 'option TIMESTAMP' "$pagek" dump -Ftime_min=1 two-levels.0 &&
	    prints 2 'option THREAD' "$pagek" dump -St two-levels.0 &&
	    prints 2 'option BACKTRACE' "$pagek" dump --filter function=f least.0 &&
	    prints 2 'option BACKTRACE' "$pagek" dump --sort=site least.0 &&
	    prints 2 'how long a tick is' "$pagek" dump --time=ms no-clock.0 &&
	    prints 2 'BACKTRACE=3' "$pagek" dump -f %b3 two-levels.0 &&
	    prints 2 '%f1 needs the executable' "$pagek" dump -f %f1 mddout.0
}
rule "what was not collected names the option that does it" lacking
cat >want <<'TEXT'
0x00097d78 : malloc() 256 bytes, seqno 0
0x000c0f50 : malloc() 13 bytes, seqno 229605
0x000c0f70 : new(nothrow) 1024 bytes, seqno 251083
TEXT
rule "and the usual output is without it" says want "$pagek" dump least.0
words() {
	prints 2 "unknown sort key 'x'" "$pagek" dump -Sx mddout.0 &&
	    prints 2 "did you mean 'thread'" "$pagek" dump -Fthreat=1 mddout.0 &&
	    prints 2 "unknown conversion '%z'" "$pagek" dump -f %z mddout.0 &&
	    prints 2 '-S is for dump and diff' "$pagek" history -Sn history.0
}
rule "unknown letters are named" words
files() {
	prints 2 'is a core file' "$pagek" dump core.1 &&
	    prints 5 'not a capture, an mddout file' "$pagek" dump empty.0 &&
	    prints 2 'before the first file' "$pagek" dump mddout.0 consume &&
	    prints 2 'dump, history and diff take one' "$pagek" stats consume mddout.0 &&
	    prints 2 'needs two dumps' "$pagek" diff mddout.0 &&
	    prints 2 'takes one dump' "$pagek" dump mddout.0 mddout.0 &&
	    prints 2 'a live target' "$pagek" diff mddout.0 pid:1 &&
	    prints 2 'needs a dump' "$pagek" dump
}
# The head of a core file.
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0\76\0\1\0\0\0' >core.1
head -c 100 /dev/zero >>core.1
rule "words that are the wrong files say what they are" files
broken() {
	prints 5 'the file ends after' "$pagek" dump consume truncated.0 &&
	    grep -q '^0x00097d78 : malloc() 256' "$tmp/out" || return 1
	prints 5 'the checksum of chunk MEMO is wrong' "$pagek" dump \
	    consume flipped.0 || return 1
	sed 's/thread_2/Thread_2/' want-dump >want-flipped
	diff want-flipped "$tmp/out" &&
	    prints 5 'within its header' "$pagek" stats header.0 &&
	    prints 5 'ENDF' "$pagek" stats cut.0
}
rule "what can be read of a broken dump is printed, with where it broke" broken
# Its file is damaged, so its name and its options may be the damage.
suspected() {
	prints 5 'does not tell the build id' "$pagek" dump -f %n pie \
	    flipped-id.0 && [ "$(cat "$tmp/out")" = 99 ] || return 1
	prints 5 'the type LAPS of a chunk is not known' "$pagek" dump -f %n \
	    pie flipped-type.0 && [ "$(cat "$tmp/out")" = 99 ] || return 1
	prints 5 'are from different runs' "$pagek" diff mddout.0 \
	    flipped-run.0 && grep -q 'checksum of chunk MEMO' "$tmp/err" &&
	    prints 5 'option ACTUAL_SIZE' "$pagek" dump -f %m \
	    flipped-options.0 && grep -q 'checksum of chunk MEMO' "$tmp/err"
}
rule "damage is said where it makes a dump look like another program's" suspected

say_result
