#!/bin/sh
# Ten thousand random keys and bytes into a page on a terminal, on each of its
# pages and at sizes that change: it lives, and gives the terminal back.  Needs
# tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
here=$tmp/here
mkdir "$here"

BATCHES=50
BYTES=200	# of each

st_is() {
	[ "$(t display -p -t p '#{alternate_on}#{cursor_flag}#{mouse_any_flag}')" \
	    = "$1" ]
}

# Its status is in a file when it has ended, and something else has the terminal.
open() {
	t kill-session -t p 2>/dev/null
	rm -f "$here/status"
	t new-session -d -s p -x 100 -y 30 -c "$here" "exec env HOME='$here' \
	    XDG_CONFIG_HOME='$here' XDG_STATE_HOME='$here' PAGER=true \
	    sh -c '$B/pagek demo:1; echo \$? >status; exec cat'"
	until_true 20 st_is 100
}

alive() {
	[ ! -e "$here/status" ] || {
		echo "ended with status $(cat "$here/status")"
		shot | grep .
		return 1
	}
}

# bytes SEED: hexadecimal, as send-keys -H takes them.  Not among them is what
# ends or stops the page as it should: q, ^C, ^Z, ^\, flow control; nor the bar
# behind which a listing would go to whatever command the next bytes name.
bytes() {
	awk -v seed="$1" -v n="$BYTES" 'BEGIN {
		split("3 17 19 26 28 113 124", out, " ")
		for (i in out)
			never[out[i]] = 1
		srand(seed)
		while (n > 0) {
			c = rand() < 0.8 ? 32 + int(rand() * 95) : \
			    int(rand() * 256)
			# An arrow, or another key of several bytes.
			if (rand() < 0.1) {
				printf "1b 5b %02x ", 65 + int(rand() * 8)
				n -= 3
			} else if (!(c in never)) {
				printf "%02x ", c
				n--
			}
		}
	}'
}

survives() {
	open || return 1
	i=0
	while [ $i -lt $BATCHES ]; do
		i=$((i + 1))
		t resize-window -t p -x $((1 + i * 37 % 150)) \
		    -y $((1 + i * 23 % 50))
		# A page or an overlay to begin with; Esc leads out of the last.
		for key in Escape Escape "$(echo '? i 6 b Enter : Tab z d m' |
		    cut -d ' ' -f $((1 + i % 10)))"; do
			keys "$key"
		done
		# shellcheck disable=SC2046
		t send-keys -t p -H $(bytes $i)
		alive || {
			echo "in batch $i"
			return 1
		}
	done
	t resize-window -t p -x 100 -y 30
}

# Behind a question, or while something is typed, the first q is none.
leaves() {
	[ -e "$here/status" ] || {
		keys Escape
		sleep 0.2
		keys q
		false
	}
}

gives_back() {
	alive && until_true 30 leaves && until_true 10 st_is 010 || {
		shot | grep .
		return 1
	}
	[ "$(cat "$here/status")" = 0 ] || {
		echo "status $(cat "$here/status")"
		return 1
	}
}

# The picture of the keys is the picture of a page that paints all of it.
no_stale_cell() {
	alive && keys Escape Escape Escape Escape && sleep 0.5 || return 1
	shows 'PAUSED' || keys Space
	wait_for 'PAUSED' || return 1
	until_true 10 repainted_alike || {
		shot >"$tmp/after"
		diff "$tmp/before" "$tmp/after"
		return 1
	}
}

# A second may begin between the two.
repainted_alike() {
	shot | grep -v 'PAUSED' >"$tmp/before"
	keys C-l
	sleep 0.3
	shot | grep -v 'PAUSED' >"$tmp/after"
	cmp -s "$tmp/before" "$tmp/after"
}

rule "ten thousand random keys do not end the page" survives
rule "no cell is stale after them" no_stale_cell
rule "q gives the terminal back, status 0" gives_back

say_result
