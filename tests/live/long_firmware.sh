#!/bin/sh
# examples/firmware on qemu's MPS2 board: gdb-multiarch takes its debug data over
# the stub, page K shows its records, and both are what the firmware logged.
set -u
. "$(dirname "$0")/lib.sh"

for tool in arm-none-eabi-g++ qemu-system-arm gdb-multiarch; do
	command -v $tool >/dev/null && continue
	skip "firmware of a Cortex-M3: there is no $tool"
	say_result
	exit
done

pagek=$B/pagek
check=$top/tests/live/long_firmware.py
qemu='qemu-system-arm -M mps2-an385 -display none -monitor none -nodefaults'
firmware=$tmp/firmware.elf
cd "$tmp" || exit 1

# built NAME SETTINGS [VARIABLE=VALUE]: the firmware, as its own Makefile makes it.
built() {
	name=$1 settings=$2
	shift 2
	make -s -C "$top/examples/firmware" O="$tmp/$name" \
	    SETTINGS="-Werror $settings" FREERTOS= "$@" &&
	    mv "$tmp/$name/firmware.elf" "$tmp/$name.elf"
}
ends() {
	grep -q '^end' "$1"
}
# run NAME RECORDS: until its log is in NAME.text; RECORDS is a file or FIFO.
run() {
	rm -f "$1.text"
	$qemu -kernel "$1.elf" -serial "file:$2" -serial "file:$1.text" \
	    2>qemu.err &
	board=$!
	until_true 60 ends "$1.text"
	status=$?
	kill $board
	wait $board
	return $status
} 2>/dev/null

rule "the firmware builds for a Cortex-M3" built firmware ""
rule "its port has less than 100 lines" \
    test "$(wc -l <"$top/examples/firmware/port.c")" -lt 100

# --- gdb over the stub ------------------------------------------------------------

cat >session <<GDB
set pagination off
target remote stub
source $top/share/mdd.gdb
tbreak finished
break cyg_memalloc_dd_history_overflow
commands
silent
mdd_dump
continue
end
continue
mdd_dump
kill
GDB
# dumped NAME: its log is in NAME.log, and its dumps in the files that $all names.
# The log is sent before finished().
dumped() {
	rm -f mddout.*
	$qemu -kernel "$1.elf" -serial file:records -serial "file:$1.log" -S \
	    -gdb unix:stub,server=on,wait=off 2>qemu.err &
	board=$!
	until_true 20 test -S stub &&
	    timeout 120 gdb-multiarch -nx -q -batch -x session "$1.elf"
	status=$?
	kill $board 2>/dev/null
	wait $board
	rm -f stub
	all=$(ls mddout.* | sort -V)
	last=$(echo "$all" | tail -n 1)
	[ $status = 0 ] && ends "$1.log" && [ -s mddout.2 ]
}
history_is_log() {
	"$pagek" history --format json "$1.elf" $all >history.json &&
	    python3 "$check" history "$1.log" history.json
}
dump_is_rest() {
	"$pagek" dump --format json "$1.elf" "$last" >dump.json &&
	    python3 "$check" dump "$1.log" history.json dump.json
}
stats_are_sums() {
	"$pagek" stats "$last" >stats && cat stats &&
	    python3 "$check" stats "$1.log" stats
}
rule "gdb takes dumps of it, one each time that its history is full" \
    dumped firmware
rule "history is the firmware's own log, in every field" \
    history_is_log firmware
rule "dump is what the log leaves" dump_is_rest firmware
rule "stats has its sums and threads" stats_are_sums firmware
source_line() {
	"$pagek" dump firmware.elf "$last" >out &&
	    grep -A 4 'new 44 bytes' out >one && cat one &&
	    grep -q '1) backtrace 0x0000.* function writer()$' one &&
	    grep -q 'examples/firmware/main.cc:[0-9]*$' one &&
	    grep -q 'new packet' one
}
rule "dump prints function, file, line and its text" source_line
counted() {
	grep -q '^record .* missed 0 unknown 0 replaced 0$' firmware.log || {
		grep ^record firmware.log
		false
	}
}
rule "calls inside of newlib are no events of their own" counted

another() {
	built another "" LINKED=-Wl,--build-id=0x0123456789abcdef &&
	    ! "$pagek" dump another.elf "$last" >out 2>err && cat err &&
	    grep -q "'another.elf' is not the program of .* its build id is 0123456789abcdef" \
	    err && "$pagek" dump firmware.elf "$last" >out
}
rule "another build's executable is refused" another

# A record is whole by then; its chain is not.
in_update() {
	mkdir -p update && cd update || return 1
	$qemu -kernel ../firmware.elf -serial null -serial null -S \
	    -gdb unix:stub,server=on,wait=off 2>qemu.err &
	board=$!
	until_true 20 test -S stub &&
	    timeout 60 gdb-multiarch -nx -q -batch -ex 'target remote stub' \
	    -ex "source $top/share/mdd.gdb" -ex 'tbreak link_slot' \
	    -ex continue -ex mdd_dumpnow -ex mdd_dump \
	    -ex 'tbreak cyg_memalloc_dd_done' -ex continue -ex mdd_dump \
	    -ex kill ../firmware.elf >out 2>&1
	kill $board 2>/dev/null
	wait $board
	cat out
	grep -q 'while it changed shard 0' out && [ ! -e mddout.2 ] || return 1
	for n in 0 1; do
		"$pagek" dump ../firmware.elf mddout.$n >dump.$n || return 1
		grep -q 'function early_block()' dump.$n || return 1
	done
	cmp dump.0 dump.1
}
rule "in an update mdd_dump refuses, and mdd_dumpnow has each whole record" \
    in_update
cd "$tmp" || exit 1

# --- options at compile time ----------------------------------------------------------

least='-DMDD_ACTUAL_SIZE=0 -DMDD_TIMESTAMP=0 -DMDD_THREAD=0 -DMDD_BACKTRACE=0
    -DMDD_HISTORY=0'
# record_of NAME SETTINGS BYTES
record_of() {
	built "$1" "$2" && run "$1" /dev/null && grep ^record "$1.text" &&
	    grep -q "^record $3 " "$1.text"
}
rule "with the fewest options a record has 16 bytes" \
    record_of least "$(echo $least)" 16
rule "with all of them 64" record_of most -DMDD_BACKTRACE=8 64
without() {
	built off "-DMDD_DEBUGDATA=0 -DMDD_HISTORY=0" && run off /dev/null &&
	    ! arm-none-eabi-nm off.elf | grep -q mdd_root
}
rule "without debug data it builds and runs, and has none" without
refused() {
	! built none "-DMDD_PORT_$1=0 -DMDD_$2=1" >out 2>&1 &&
	    grep -q "error.*MDD_$2 needs a port" out || { cat out; false; }
}
rule "a port without ticks cannot have time stamps" refused TICKS TIMESTAMP
rule "nor one without threads their numbers" refused THREADS THREAD

# --- records on the serial line ---------------------------------------------------------

rows() {
	sed 1d "$1" | tr -d , | awk '{ print $1, $2, $3 }'
}
mkfifo line
listed() {
	"$pagek" list --sort address raw:line >rows 2>err &
	reader=$!
	run firmware line
	wait $reader && cat err && [ ! -s err ] &&
	    python3 "$check" held firmware.text >held && rows rows | diff held -
}
rule "its records on the serial line list what it holds" listed
page() {
	"$pagek" -b --interval 0.2 -o page raw:line &
	reader=$!
	run firmware line
	n=$(wc -l <held)
	until_true 10 grep -q "  $n blocks" page
	status=$?
	kill $reader
	wait $reader
	tail -n 30 page
	[ $status = 0 ] && grep -q 'K MEMORY BLOCKS' page &&
	    ! grep -q 'INCOMPLETE\|skipped' page
}
rule "page K shows them" page

# Of the run under gdb.
types_are_known() {
	"$pagek" list --format json raw:records >list.json && python3 -c '
import json
d = json.load(open("list.json"))
assert d["complete"] and d["counts"]["illegal_type"] == 0, d["counts"]
assert all(b["type_name"] for b in d["blocks"])'
}
rule "their types are those of a node" types_are_known

# --- FreeRTOS ---------------------------------------------------------------------------

# Where FREERTOS is the folder of a kernel; no Debian package has one.
if [ -n "${FREERTOS:-}" ]; then
	export KERNEL=6
	rule "the firmware builds with FreeRTOS" \
	    built freertos "" FREERTOS="$FREERTOS"
	rule "gdb takes dumps of that" dumped freertos
	rule "its history is its log and the kernel's blocks" \
	    history_is_log freertos
	rule "dump is what the log leaves, and the kernel's blocks" \
	    dump_is_rest freertos
	rule "stats has the tasks" stats_are_sums freertos
	rule "the types of its records are those of a node" types_are_known
fi

say_result
