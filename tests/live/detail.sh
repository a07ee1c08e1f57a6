#!/bin/sh
# The detail of a real program's block: who asked for it, what was born with it
# and who has its address afterwards, held against what the program itself
# knows.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
triples=$B/tests/targets/triples
[ -x "$triples" ] || { echo "no $triples: make targets"; exit 1; }
stop() {
	[ -s "$tmp/pid" ] && kill "$(cat "$tmp/pid")"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

# go COLUMNS ROWS: a page of the program, whose blocks are all there.
go() {
	[ ! -s "$tmp/pid" ] || kill "$(cat "$tmp/pid")" 2>/dev/null
	t kill-session -t p 2>/dev/null
	rm -f "$tmp/told"
	t new-session -d -s p -x "$1" -y "$2" "exec '$pagek' run --stack 8 -- \
	    sh -c 'echo \$\$ >$tmp/pid; exec $triples $tmp/told'"
	t resize-window -t p -x "$1" -y "$2"
	until_true 30 grep -qs all "$tmp/told" && wait_for "triples\[[0-9]*\]" &&
	    wait_for ' 12 blocks '
}

# The N-th block of the last three, as the program has it.
told() {
	sed -n 3p "$tmp/told" | cut -d ' ' -f "$1"
}

line_of() {
	sed -n "/to\[i\] = malloc/=" "$top/tests/targets/triples.c"
}

opens() {
	go 110 50 && keys End Enter && wait_for "BLOCK $(told 3)" &&
	    wait_for "request +triples.c:$(line_of)" && wait_for ' main ' &&
	    shows '1,080 asked' && shows 'state +live' &&
	    shows "before $(told 2)  *1,024 malloc"
}
rule "the youngest block's detail has function, file and line" opens

together() {
	wait_for 'together +2 born in its cycle' &&
	    shows "^    $(told 1)  *1,072 malloc" &&
	    shows "^    $(told 2)  *1,024 malloc" &&
	    wait_for 'beside +1 of that cycle and thread' &&
	    shows '^    [0-9a-f]{12} +1,000 malloc   request  triples.c' ||
	    return 1
	# Of the other requests' blocks none was.
	for addr in $(sed -n 1,2p "$tmp/told"); do
		hides "^    $addr" || return 1
	done
}
rule "what was born together with it is what the program made with it" together

goes_there() {
	keys End k Enter && wait_for "BLOCK $(told 2)" &&
	    wait_for 'together +2 born' && shows "^    $(told 3)  *1,080" &&
	    keys Escape && wait_for "BLOCK $(told 3)"
}
rule "Enter opens one of those, and Esc comes back" goes_there

neighbours() {
	keys '[' && wait_for "BLOCK $(told 2)" && keys ']' &&
	    wait_for "BLOCK $(told 3)" && keys Escape Escape &&
	    wait_for "BLOCK $(told 3)"
}
rule "[ and ] go to the neighbours in memory" neighbours

used_again() {
	kill -USR1 "$(cat "$tmp/pid")" &&
	    until_true 10 grep -q again "$tmp/told" &&
	    [ "$(sed -n 's/ again//p' "$tmp/told")" = "$(told 3)" ] &&
	    wait_for 'freed .* by free in thread' &&
	    wait_for 'its address is in use again' &&
	    wait_for '1,080 malloc .*this block, freed after' &&
	    shows '1,080 malloc .*is live now' && hides 'lost or skipped'
}
rule "its address tells who has it after it was freed" used_again

from_before() {
	# While the order is frozen the last row is the block that was freed.
	keys Escape && wait_gone '^BLOCK' && wait_gone 'order: frozen' &&
	    keys End Enter &&
	    wait_for 'replace +triples.c' && shows '1,080 malloc .* freed' &&
	    shows '1,080 malloc .*this block'
}
rule "the detail of its next holder tells who had it before" from_before

sizes() {
	for size in '40 10' '80 24' '33 5' '20 4' '124 30'; do
		t resize-window -t p -x "${size% *}" -y "${size#* }"
		keys j j k G Home
		until_true 10 alive || return 1
	done
	wait_for 'BLOCK [0-9a-f]{12}'
}
alive() {
	[ "$(t display -p -t p '#{alternate_on}')" = 1 ]
}
rule "it lives on screens of any size" sizes
keys q q

# --- the source line ---

# The names are the program's: a shell would do what they say.
odd="\$(touch pwned);touch pwned;\`touch pwned\` -c"
mkdir -p "$tmp/here/made"
cat >"$tmp/here/$odd.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held;
int
main(void)
{
	held = malloc(4321);	/* the only one */
	for (;;)
		pause();
}
C
cat >"$tmp/editor" <<EOF
#!/bin/sh
printf '%s\\n' "\$@" >"$tmp/args"
echo EDITOR RUNS
read key
EOF
chmod +x "$tmp/editor"
# Its paths are relative, and the page runs in another folder.
source=$tmp/here/made/../$odd.c
(cd "$tmp/here/made" && cc -g -O0 -o ../program "../$odd.c") || exit 1
source_line() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" -c / \
	    "VISUAL='$tmp/editor --wait' exec '$pagek' run -- '$tmp/here/program'"
	wait_for '4,321' && keys ':filter size==4321' Enter &&
	    wait_for '1 of ' && keys g Enter && wait_for 'BLOCK' &&
	    wait_for '^  held = malloc\(4321\); /\* the only one \*/$'
}
edits() {
	keys E && wait_for 'EDITOR RUNS' &&
	    printf '%s\n' --wait "+7" "$source" | cmp - "$tmp/args" &&
	    keys x Enter && wait_for 'BLOCK' && wait_for 'LIVE' &&
	    wait_for '^  held = malloc'
}
is_gone() {
	touch -d '+1 hour' "$tmp/here/$odd.c" && keys j &&
	    wait_gone 'held = malloc' && keys k &&
	    wait_for 'newer than program' && mv "$tmp/here/$odd.c" "$tmp/x.c" &&
	    keys j && wait_gone 'held = malloc' && keys k &&
	    wait_for 'the file is not on this machine' && keys E &&
	    wait_for "there is no file $tmp/here/" &&
	    mv "$tmp/x.c" "$tmp/here/$odd.c" && [ ! -e "$tmp/here/pwned" ]
}
for size in '80 24' '124 35'; do
	rule "at $size the detail shows the source line" source_line $size
	rule "at $size E opens it in the editor, without a shell" edits
	keys Q
	wait_for 'y/n' >/dev/null && keys y
done
rule "the source line is shown again" source_line 80 24
rule "a file that is newer is marked, and a missing one is reported with its path" is_gone
keys q q

say_result
