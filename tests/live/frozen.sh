#!/bin/sh
# The paused picture, the frozen order, a followed block and steps back, with a
# program that never rests.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
node=$XDG_RUNTIME_DIR/pagek/node
pagek=$B/pagek
daemon=
worker=
stop() {
	for p in $daemon $worker; do
		kill_node "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

# Holds 300 blocks and replaces one of them every 5 ms, any but each fourth, for
# as long as there is no file "calm".
cat >"$tmp/worker.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[300];
int main(int argc, char **argv)
{
	unsigned n = 0, at = 0;
	for (int i = 0; i < 300; i++)
		held[i] = malloc(5000 + i);
	for (;;) {
		if (access(argv[1], F_OK) != 0) {
			at = (at + 7) % 300;
			if (at % 4 == 0)
				continue;
			n++;
			free(held[at]);
			held[at] = malloc(6000 + n % 500);
		}
		usleep(5000);
	}
	return argc;
}
C
cc -O1 -fno-builtin -o "$tmp/worker" "$tmp/worker.c" || exit 1

page() {
	t new-session -d -s "$1" -x 110 -y 40 "exec '$pagek' 'unix:$node'"
	t resize-window -t "$1" -x 110 -y 40
}
# The addresses of the rows, from the top down.
rows() {
	look "$1" | grep -oE '^[0-9a-f]{12} '
}
# The block under the cursor is the one that opens.
opens() {
	keys_to a Enter
	wait_on a "^BLOCK $1" && keys_to a Escape && wait_on a '^ADDRESS'
}

both() {
	"$B/pageknode" 2>"$tmp/said" &
	daemon=$!
	until_true 10 test -S "$node" || { cat "$tmp/said"; return 1; }
	start_watched "$tmp/worker" "$tmp/calm" || return 1
	worker=$watched
	page a && page b && wait_on a 'worker\[[0-9]+\]  LIVE' &&
	    wait_on b 'worker\[[0-9]+\]  LIVE'
}
rule "two pages watch one program" both

# --- paused ---

since() {
	look "$1" | sed -nE 's/.*PAUSED \+([0-9,]+).*/\1/p' | tr -d ,
}
# Of about 400 records a second, those of two.
much_since() {
	[ "$(since a)" -gt $(($1 + 700)) ]
}
paused() {
	# A name that is not there yet still comes.
	wait_on a ' main$' && keys_to a Space && wait_on a 'PAUSED \+' || return 1
	look a | sed -E 's/PAUSED \+[0-9,]+ */PAUSED/' >"$tmp/before"
	until_true 20 much_since "$(since a)" || return 1
	look a | sed -E 's/PAUSED \+[0-9,]+ */PAUSED/' >"$tmp/after"
	diff "$tmp/before" "$tmp/after"
}
rule "two shots of a paused picture are equal but for the counter" paused

# Blocks, bytes, free records and losses.
totals() {
	look "$1" | grep -oE '[0-9,]+ blocks +[0-9.]+ [KM]iB|act [0-9,]+ free [0-9,]+|lost [0-9,]+'
}
agree() {
	[ "$(totals a)" = "$(totals b)" ] && [ -n "$(totals a)" ]
}
goes_on() {
	: >"$tmp/calm"
	wait_on b '  0 rec' && keys_to a Space && wait_on a 'LIVE 1[0-9] Hz' &&
	    until_true 20 agree && on a 'lost 0' || {
		totals a
		totals b
		return 1
	}
	rm "$tmp/calm"
}
rule "and then its totals are those of a page that never paused" goes_on

# --- the order ---

changed() {
	[ "$(rows a | sed -n 1,30p)" != "$had" ]
}
# Once a second, for as long as the order would take to go on.
frozen() {
	keys_to a ':sort address' Enter && wait_on a 'order ADDRESS' &&
	    had=$(rows a | sed -n 1,30p) && until_true 20 changed &&
	    keys_to a j && wait_on a 'frozen 5s' || return 1
	had=$(rows a | sed -n 1,30p)
	for press in j j k j k j j; do
		wait_on a 'frozen 4s' && keys_to a "$press" &&
		    wait_on a 'frozen 5s' || return 1
		changed && {
			echo "other rows:"
			rows a | sed -n 1,30p
			return 1
		}
	done
	on a 'freed' || { echo "values stand still, too"; look a; return 1; }
	until_true 20 off a 'frozen' && until_true 20 changed
}
rule "with a cursor key a second the order does not change, and values do" \
    frozen

held() {
	keys_to a z && wait_on a 'frozen ' && wait_on a 'freed' || return 1
	dead=$(look a | sed -nE 's/^([0-9a-f]{12}) .* freed .*/\1/p' | head -n 1)
	keys_to a z && wait_on a 'order ADDRESS' && off a ' freed '
}
rule "z holds the order until it is pressed again" held

# --- followed ---

# The oldest block is never freed.
followed() {
	keys_to a ':sort age' Enter && wait_on a 'order AGE' &&
	    keys_to a Home F && wait_on a 'follow [0-9a-f]{12}' || return 1
	addr=$(look a | sed -nE 's/.*follow ([0-9a-f]{12}).*/\1/p' | head -n 1)
	for sort in ':sort address' r ':sort age'; do
		keys_to a "$sort"
		[ "$sort" = r ] || keys_to a Enter
		wait_on a 'order: ' && on a "^$addr" && opens "$addr" || {
			look a | grep -n "$addr"
			return 1
		}
	done
	keys_to a ':group thread' Enter && wait_on a 'COUNT' &&
	    keys_to a ':group none' Enter && wait_on a '^ADDRESS' &&
	    wait_on a "^$addr" && opens "$addr" && keys_to a F &&
	    wait_on a 'following ended' && off a 'follow [0-9a-f]{12}'
}
rule "F: the line at the cursor has that address through three sorts and groups" \
    followed

# --- back ---

# Which moment line 1 says that the picture is of; of the pause, none.
moment() {
	look a | grep -oE 'PAUSED [0-9:]{8} \(-[0-9]+ s\)'
}
stepped() {
	[ "$(moment)" != "$was" ]
}
# From state to state, and not from key to key: one picture may have it.
finds() {
	for step in $(seq 40); do
		was=$(moment)
		keys_to a ,
		until_true 10 stepped || return 1
		on a "^$1 " && return 0
	done
	return 1
}
back() {
	keys_to a Escape ':sort address' Enter && wait_on a 'order ADDRESS' &&
	    keys_to a z && wait_on a 'freed' || return 1
	dead=$(look a | sed -nE 's/^([0-9a-f]{12}) .* freed .*/\1/p' | head -n 1)
	size=$(look a | sed -nE "s/^$dead +([0-9,]+) .* freed .*/\1/p")
	keys_to a z Space && wait_on a 'PAUSED \+' || return 1
	finds "$dead +$size" || {
		echo "$dead of $size never came back"
		look a
		return 1
	}
	for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		keys_to a .
	done
	wait_on a 'PAUSED \+[0-9]' && wait_on a 'nothing after the pause' &&
	    keys_to a Space && wait_on a 'LIVE 1[0-9] Hz'
}
rule "steps back show what was freed before the pause" back

leave a
leave b
say_result
