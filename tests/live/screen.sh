#!/bin/sh
# Page K on a terminal: what it shows, at which size, and that the terminal is
# as it was afterwards, whatever ended the page.  Needs tmux and bash.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
here=$tmp/here
mkdir "$here"

shows() {
	shot | grep -qF -- "$1"
}

# 010 at a shell prompt: no alternate screen, a cursor, no mouse.
st() {
	t display -p -t p '#{alternate_on}#{cursor_flag}#{mouse_any_flag}'
}

st_is() {
	[ "$(st)" = "$1" ]
}

back() {
	until_true 10 st_is 010 || {
		echo "the terminal is $(st)"
		shot | grep .
		return 1
	}
}

# go WIDTH HEIGHT: a shell with a terminal of that size.  TERM is the pane's.
go() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 80 -y 24 -c "$here" \
	    "exec env PS1='PK>' bash --norc --noprofile"
	until_true 10 shows 'PK>' || return 1
	t resize-window -t p -x "$1" -y "$2"
}

run() {
	keys "clear; $*" Enter
}

# open WIDTH HEIGHT ARGUMENTS: pagek in a shell of that size, its pid in a file.
open() {
	go "$1" "$2" || return 1
	shift 2
	rm -f "$here/pid"
	run "sh -c 'echo \$\$ >pid; exec $B/pagek $*'"
	until_true 10 test -s "$here/pid" && until_true 10 st_is 100
}

# The status of what ran last, once the shell is back.
status() {
	rm -f "$here/status"
	keys "echo \$? >status" Enter
	until_true 10 test -s "$here/status"
	cat "$here/status"
}

status_is() {
	got=$(status)
	[ "$got" = "$1" ] || {
		echo "status $got, not $1"
		shot | grep .
		return 1
	}
}

# quits [STATUS]
quits() {
	keys q
	back && status_is "${1:-0}"
}

# Ended, whether or not its shell has looked yet.
gone() {
	! grep -q '^State:.[^Z]' "/proc/$(cat "$here/pid")/status"
}

alive() {
	kill -0 "$(cat "$here/pid")"
}

colours() {
	esc=$(printf '\033')
	t capture-pane -e -p -t p |
	    grep -qE "$esc\[([0-9;]*;)?(3[0-7]|4[0-7]|9[0-7]|[34]8;[0-9;]*)m"
}

# A row that begins with an address, in reverse.
selected() {
	esc=$(printf '\033')
	t capture-pane -e -p -t p |
	    grep -qE "$esc\[([0-9;]*;)?7m($esc\[[0-9;]*m)*[0-9a-f]{12} "
}

# --- the note's page ---

note_page >"$tmp/note"
# As the note prints it: its rows lost the blank RNOD field in print.
cat >"$tmp/printed" <<'EOF'
K MEMORY BLOCKS    07/13/04 1330
NODE<0590> *L<0509>    6 OFFS=  0
  ADDRESS SIZE TY DESCR  RNOD AGE
008E6588 0040 09 AHDRMSG    0
008E65D0 0050 09 AHDRMSG   13
008E6628 0030 01 LOCREQ   39
008E6660 0030 01 LOCREQ    0
008E6698 0018 0E INTPTRS   13
008E66B8 0048 0C ACREQ   AB86  13
EOF

note_to_the_byte() {
	open 80 24 --classic=strict --sort p --at 39s demo:note || return 1
	wait_for '008E66B8' || return 1
	shot >"$tmp/shot"
	sed '1,3!{9!d;}' "$tmp/shot" >"$tmp/got"
	sed '1,3!{9!d;}' "$tmp/printed" | cmp - "$tmp/got" || return 1
	sed 9q "$tmp/shot" | cmp - "$tmp/note" || return 1
	sed 9q "$tmp/shot" | tr -s ' ' >"$tmp/got"
	tr -s ' ' <"$tmp/printed" | cmp - "$tmp/got" || return 1
	# Strict: the note's lines and nothing else.
	[ "$(sed 1,9d "$tmp/shot" | tr -d '\n' | wc -c)" = 0 ]
}

note_is_the_oldest_first() {
	open 80 24 --classic=strict --at 39s demo:note || return 1
	wait_for '008E66B8' || return 1
	[ "$(shot | sed -n 4p)" = '008E6628 0030 01 LOCREQ        39' ]
}

no_such_stream() {
	open 80 24 --stream OTHER demo:note || return 1
	wait_for 'NO ALLOCLOG' && quits
}

rule "the note's six blocks come out byte for byte" note_to_the_byte
rule "q leaves the strict page with status 0" quits
rule "the default order is age, oldest first" note_is_the_oldest_first
rule "a stream of another name is NO ALLOCLOG" no_such_stream

# --- sizes ---

fits() {
	open "$1" "$2" --at 39s demo:note || return 1
	if [ "$1" -ge 33 ] && [ "$2" -ge 5 ]; then
		wait_for 'NODE<0590>' || return 1
		shot | sed -n 1p | grep -q '^K MEMORY BLOCKS' || return 1
		# The full page has the last minute in between.
		line=2
		[ "$1" -lt 120 ] || [ "$2" -lt 16 ] || line=3
		[ $line = 2 ] || shot | sed -n 2p | grep -q '^live ' ||
		    return 1
		shot | sed -n ${line}p | grep -q '^NODE<0590>' || return 1
		shot | sed -n $((line + 1))p | grep -q 'ADDRESS' || return 1
	elif [ "$1" -ge 20 ]; then
		wait_for '0590 LIVE 6' || return 1
	fi
	quits
}

for size in '300 100' '124 30' '120 15' '80 24' '40 10' '33 5' '20 5' '1 1'; do
	rule "a terminal of $size is used and given back" fits $size
done

classic_is_whole() {
	open "$1" 12 --sort p --at 39s demo:note || return 1
	wait_for '008E66B8' || return 1
	shot | sed 9q | cmp - "$tmp/note" || return 1
	quits
}

rule "33 columns show the note's rows whole" classic_is_whole 33
rule "so do 79" classic_is_whole 79

# Everything but the last two lines, whose digits say what the page costs.
steady() {
	shot | sed 38q
}

same_as_fresh() {
	steady | cmp -s - "$tmp/fresh"
}

resized() {
	open 120 40 --sort p --at 39s demo:note || return 1
	wait_for '008e66b8' || return 1
	until_true 10 shows '15 Hz' || return 1
	steady >"$tmp/fresh"
	open 100 30 --sort p --at 39s demo:note || return 1
	wait_for '15 Hz' || return 1
	for size in '40 10' '120 40' '7 3' '33 5' '200 60' '1 1' '80 24' \
	    '79 24' '34 9' '120 7' '10 60' '64 20' '90 4' '41 11' '124 30' \
	    '20 5' '2 2' '300 80' '36 8' '120 40'; do
		t resize-window -t p -x "${size% *}" -y "${size#* }"
		alive || return 1
	done
	until_true 5 same_as_fresh || {
		steady | diff "$tmp/fresh" -
		return 1
	}
	quits
}

rule "after twenty sizes the picture is that of a fresh start" resized

# --- ways out ---

ended_by() {
	go 80 24 || return 1
	run 'stty -a >before'
	until_true 10 test -s "$here/before" || return 1
	rm -f "$here/pid" "$here/after"
	run "sh -c 'echo \$\$ >pid; exec $B/pagek demo:1'"
	until_true 10 test -s "$here/pid" || return 1
	wait_for 'LIVE' || return 1
	st_is 100 || return 1
	kill "-$1" "$(cat "$here/pid")"
	back && status_is "$2" || return 1
	keys 'stty -a >after' Enter
	until_true 10 test -s "$here/after" || return 1
	cmp "$here/before" "$here/after"
}

rule "TERM gives the terminal back, status 143" ended_by TERM 143
rule "INT gives the terminal back, status 130" ended_by INT 130
rule "HUP gives the terminal back, status 129" ended_by HUP 129
rule "SEGV gives the terminal back, status 139" ended_by SEGV 139

interrupt_key() {
	open 80 24 demo:1 && wait_for LIVE || return 1
	keys C-c
	back && status_is 130
}

rule "^C quits with status 130" interrupt_key

stopped_output() {
	open 80 24 demo:1 && wait_for LIVE || return 1
	keys C-s
	kill -TERM "$(cat "$here/pid")"
	back && keys C-q && status_is 143
}

rule "a terminal stopped by ^S does not hold the page" stopped_output

suspended() {
	open 80 24 demo:1 && wait_for 'LIVE' || return 1
	keys C-z
	wait_for 'Stopped' && back || return 1
	keys 'fg' Enter
	wait_for 'resumed' && st_is 100 && wait_for 'lost 0' && quits
}

rule "^Z stops cleanly and fg brings the whole picture back" suspended

killed_while_stopped() {
	open 80 24 demo:1 && wait_for 'LIVE' || return 1
	keys C-z
	wait_for 'Stopped' || return 1
	keys 'kill %1' Enter
	until_true 10 gone || return 1
	keys 'clear; stty -a | grep -o " icanon"; echo shell-$((40 + 2))' Enter
	wait_for 'shell-42' && shows ' icanon' && back
}

rule "a stopped page can be ended and leaves the shell alone" \
    killed_while_stopped

# --- terminals and colours ---

on_term() {
	go 80 24 || return 1
	run "TERM=$1 $B/pagek run -- true"
	wait_for 'ENDED' && wait_for 'ADDRESS' || return 1
	keys '?'
	wait_for 'HELP' || return 1
	keys Escape
	until_true 10 shows 'ADDRESS' || return 1
	case $1 in
	vt100 | xterm-mono)
		if colours; then
			echo "colour codes on $1"
			return 1
		fi
		;;
	*)
		colours || {
			echo "no colours on $1"
			return 1
		}
		;;
	esac
	quits
}

for term in xterm-256color screen linux vt100 xterm-mono; do
	rule "TERM=$term shows the page" on_term $term
done

refused() {
	go 80 24 || return 1
	rm -f "$here/err"
	run "env $1 $B/pagek demo:1 2>err"
	until_true 10 test -s "$here/err" || return 1
	status_is 2 && st_is 010 || return 1
	[ "$(wc -l <"$here/err")" = 1 ] || return 1
	grep -q 'pagek list' "$here/err" || return 1
	! grep -q "$(printf '\033')" "$here/err"
}

rule "TERM=dumb is refused in one line" refused TERM=dumb
rule "TERM=nosuch is refused in one line" refused TERM=nosuch
rule "no TERM at all is refused in one line" refused '-u TERM'

no_color() {
	go 80 24 || return 1
	run "NO_COLOR=1 $B/pagek run -- sleep 1"
	wait_for 'ENDED' && wait_for 'malloc' || return 1
	keys j j
	until_true 10 selected || return 1
	if colours; then
		return 1
	fi
	quits
}

color_always() {
	go 80 24 || return 1
	run "NO_COLOR=1 $B/pagek run --color=always -- true"
	wait_for 'ENDED' && until_true 10 colours && quits
}

rule "NO_COLOR leaves no colour, and the selection visible" no_color
rule "--color=always wins over NO_COLOR" color_always

# Sparks are drawn with other characters: that line is looked at by itself.
c_locale() {
	open $1 20 --sort p --at 39s demo:note && wait_for '15 Hz' ||
	    return 1
	shot | grep -v '^live' | sed 14q >"$tmp/utf8"
	keys q
	back || return 1
	go $1 20 || return 1
	run "LC_ALL=C $B/pagek --sort p --at 39s demo:note"
	wait_for '15 Hz' || return 1
	shot | grep -v '^live' | sed 14q >"$tmp/ascii"
	if shot | LC_ALL=C grep -q '[^ -~]'; then
		return 1
	fi
	if LC_ALL=C grep -q '[^ -~]' "$tmp/ascii"; then
		return 1
	fi
	cmp "$tmp/utf8" "$tmp/ascii" && quits
}

rule "LC_ALL=C is pure ASCII, and no column moves" c_locale 100
rule "nor on the full page" c_locale 124

# Keys of xterm, on a terminal whose TERM has none of them.
other_keys() {
	open 80 24 demo:1 && wait_for LIVE || return 1
	quits || return 1
	run "TERM=$1 $B/pagek demo:1"
	wait_for 'LIVE' && wait_for 'OFFS=     0' || return 1
	t send-keys -t p -H 1b 5b 36 7e
	until_true 10 sh -c "tmux -u -S '$tmp/tmux' capture-pane -p -t p |
	    grep -q 'OFFS= *[1-9]'" || return 1
	t send-keys -t p -H 1b 5b 31 3b 35 41
	wait_for 'that key means nothing here' || return 1
	# F6, and ^F1: one is known, and none is 5 or 6.
	t send-keys -t p -H 1b 5b 31 37 7e
	wait_for 'a letter or Enter picks' || return 1
	keys Escape
	until_true 10 shows 'FUNCTION' || return 1
	t send-keys -t p -H 1b 4f 31 3b 35 50
	shows 'K MEMORY' && quits
}

for term in vt100 linux screen xterm; do
	rule "with TERM=$term, keys of another terminal are known, and none counts as several" \
	    other_keys $term
done

# --- the end of a target ---

line_1() {
	shot | sed -n 1p | grep -q "$1"
}

ended_and_saved() {
	go 80 24 || return 1
	rm -f "$here"/pagek-*.txt
	run "$B/pagek run -- perl -e 'sleep 1; exit 3'"
	until_true 20 line_1 'ENDED ..:..:.. exit 3' || return 1
	shows 'malloc' || return 1
	keys e
	wait_for 'saved as pagek-' || return 1
	grep -q 'ENDED ..:..:.. exit 3' "$here"/pagek-*.txt || return 1
	grep -q 'malloc' "$here"/pagek-*.txt || return 1
	quits 3
}

killed_target() {
	go 80 24 || return 1
	rm -f "$here/target"
	run "$B/pagek run -- sh -c 'echo \$\$ >target; exec sleep 100'"
	until_true 10 test -s "$here/target" && wait_for 'sleep[' || return 1
	kill -KILL "$(cat "$here/target")"
	until_true 20 line_1 'ENDED ..:..:.. signal 9' || return 1
	shows 'malloc' && quits 137
}

asked_to_end() {
	go 80 24 || return 1
	rm -f "$here/target"
	run "$B/pagek run -- sh -c 'echo \$\$ >target; exec sleep 100'"
	until_true 10 test -s "$here/target" && wait_for 'sleep[' || return 1
	keys Q
	wait_for 'y/n' || return 1
	keys n
	wait_for 'the target goes on' || return 1
	kill -0 "$(cat "$here/target")" || return 1
	keys Q
	wait_for 'y/n' || return 1
	keys y
	back || return 1
	if kill -0 "$(cat "$here/target")" 2>/dev/null; then
		return 1
	fi
}

rule "the picture of an ended target stays and can be saved" ended_and_saved
rule "a killed target is ENDED by signal 9" killed_target
rule "Q asks before it ends the target" asked_to_end

# --- keys ---

overlays() {
	open 100 30 demo:1 && wait_for LIVE || return 1
	keys '?'
	wait_for 'HELP' || return 1
	keys Escape
	until_true 10 shows 'FUNCTION' || return 1
	keys Escape
	keys Escape
	alive || return 1
	keys ':nonsense' Enter
	wait_for "no command ':nonsense'" || return 1
	keys Z
	wait_for 'Z means nothing here' || return 1
	keys s
	wait_for 'a letter or Enter picks' || return 1
	keys p
	wait_for 'order ADDRESS' || return 1
	keys ':sort age' Enter
	wait_for 'order AGE' || return 1
	keys Space
	wait_for 'PAUSED +' || return 1
	keys Space
	wait_for 'LIVE 15 Hz' && quits
}

rule "overlays, commands and unknown keys leave the page alive" overlays

# --- who asked ---

# No line is wrapped: a full screen has as many lines as it is high.
whole() {
	[ "$(t display -p -t p '#{pane_width}x#{pane_height}')" = "$1x$2" ] ||
	    return 1
	[ "$(shot | wc -L)" -le "$1" ]
}

# A row under the cursor: in reverse, whatever it begins with.
reversed() {
	esc=$(printf '\033')
	t capture-pane -e -p -t p | sed 1,3d |
	    grep -qE "$esc\[([0-9;]*;)?7m($esc\[[0-9;]*m)*[^$esc]*$1"
}

# The end of the stack, which comes a moment after the block.  Once more at the
# last call, G would go on to the lines behind the stack.
end_shows() {
	keys Home G
	shows "$1"
}

detail_opens() {
	open "$1" "$2" demo:1 && wait_for LIVE || return 1
	# Its first block is there from the start, and so is its stack.
	keys j Enter
	wait_for 'BLOCK 7f3c' && wait_for 'asked' && whole "$1" "$2" || return 1
	until_true 10 end_shows "$3" || return 1
	keys g
	wait_for 'callers' && whole "$1" "$2" || return 1
	keys Escape
	wait_for 'BLOCK 7f3c' || return 1
	keys Escape
	until_true 10 shows 'ADDRESS' && quits
}

groups_open() {
	open "$1" "$2" demo:1 && wait_for LIVE || return 1
	keys b
	wait_for 'COUNT' && wait_for 'conn_read' && whole "$1" "$2" || return 1
	keys j j j
	until_true 10 reversed '%' || return 1
	keys Enter
	wait_for 'ADDRESS' && whole "$1" "$2" || return 1
	keys Escape
	wait_for 'COUNT' || return 1
	keys b
	wait_for 'SITE' || return 1
	keys b
	wait_for 'LINE' || return 1
	keys b
	wait_for 'MODULE' || return 1
	keys b
	wait_for 'FRAME' || return 1
	wait_for 'worker_main' && whole "$1" "$2" || return 1
	for kind in TYPE CTYPE THREAD AGED BORN; do
		keys b
		wait_for "$kind " && whole "$1" "$2" || return 1
	done
	keys b
	wait_for 'ADDRESS' && quits
}

for size in '80 24' '124 30' '40 10'; do
	rule "at $size a block opens in detail, and its callers" \
	    detail_opens $size 'clone3'
	rule "at $size groups open and close" groups_open $size
done

# The same block, whatever happens to it; its time of birth does not change.
detail_stays() {
	open 80 24 demo:1 && wait_for LIVE || return 1
	keys j Enter
	wait_for 'BLOCK 7f3c' || return 1
	born=$(shot | sed -n 's/^  age .*since //p')
	[ -n "$born" ] && until_true 60 shows "freed " || return 1
	[ "$(shot | sed -n 's/^  age .*since //p')" = "$born" ] || return 1
	shows 'innermost first' && shows 'clone3' || return 1
	keys Escape
	until_true 10 shows 'ADDRESS' && quits
}

paused_groups() {
	open 80 24 demo:1 && wait_for LIVE || return 1
	keys b
	wait_for 'conn_read' || return 1
	keys Space
	# What had no name yet may still get one: the groups stand all the same.
	until_true 10 sh -c "tmux -u -S '$tmp/tmux' capture-pane -p -t p |
	    grep -q 'PAUSED +[0-9]*,[0-9]'" || return 1
	shot | sed -n '3,22p' >"$tmp/paused"
	# A second's records later nothing but their count has changed.
	until_true 20 sh -c "tmux -u -S '$tmp/tmux' capture-pane -p -t p |
	    grep -qE 'PAUSED \+([2-9]|[0-9]{2,}),[0-9]'" || return 1
	shot | sed -n '3,22p' | cmp - "$tmp/paused" || return 1
	keys Enter
	wait_for 'blocks,' || return 1
	keys Enter
	wait_for 'live in the paused picture' || wait_for 'state     live' ||
	    return 1
	keys Escape
	quits
}

skipping() {
	open 100 24 demo:1 && wait_for LIVE || return 1
	wait_for 'parse_header' || return 1
	keys ':noskip' Enter
	wait_for 'xmalloc  xmalloc.c:22' || return 1
	shows 'parse_header' && return 1
	keys ':skip xmalloc,parse_header' Enter
	wait_for 'request_feed' || return 1
	keys ':skip a,,b' Enter
	wait_for 'are not patterns' || return 1
	keys ':skip' Enter
	wait_for 'parse_header' && quits
}

no_color_detail() {
	go 80 24 || return 1
	run "NO_COLOR=1 $B/pagek demo:1"
	wait_for LIVE || return 1
	keys j Enter
	wait_for 'BLOCK 7f3c' && until_true 10 reversed 'xmalloc' || return 1
	if colours; then
		return 1
	fi
	keys Escape b j
	until_true 10 reversed '%' || return 1
	if colours; then
		return 1
	fi
	quits
}

real_target() {
	go 100 30 || return 1
	run "$B/pagek run -- $B/tests/targets/held"
	wait_for 'LIVE' || return 1
	keys b
	wait_for 'COUNT' || return 1
	keys b b b b
	wait_for 'FRAME' && until_true 20 shows 'main' || return 1
	# What is typed ahead of a picture means the groups that it will have.
	keys b Enter
	wait_for '7 of 7 blocks' || return 1
	keys Escape b b b b b Enter
	wait_for 'BLOCK ' && wait_for 'innermost first' || return 1
	keys q
	until_true 10 shows 'ADDRESS' || return 1
	keys Q
	wait_for 'y/n' || return 1
	keys y
	back
}

rule "a detail stays on its block, also when that is freed" detail_stays
rule "a pause stops groups, and what they open" paused_groups
rule ":skip and :noskip change who has asked" skipping
rule "without colour the cursor is seen in detail and groups" no_color_detail
if [ -x "$B/tests/targets/held" ]; then
	rule "a real target's blocks have stacks and groups" real_target
else
	skip "a real target's blocks have stacks and groups: no tests/targets/held"
fi
say_result
