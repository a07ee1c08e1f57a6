#!/bin/sh
# Settings on the page: keys and colours of one's own, :set and :save, and what
# was typed in a page before.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
config=$XDG_CONFIG_HOME/pagek/config
history=$XDG_STATE_HOME/pagek/history
mkdir -p "$XDG_CONFIG_HOME/pagek"

# page ARGUMENTS...: in the session p, which ends with it; 80 by 24.
page() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 80 -y 24 \
	    "'$pagek' $* demo:note 2>'$tmp/said'; echo \$? >'$tmp/rc'"
	wait_for 'K MEMORY BLOCKS'
}
left() {
	! t has-session -t p 2>/dev/null
}
leave() {
	keys "${1:-q}"
	until_true 10 left
}
# type LINE: behind a `:`, and Enter.
type() {
	keys :
	wait_for '^:$' && keys -l "$1" && keys Enter
}
same() {
	[ "$(cat "$1")" = "$2" ] || {
		cat "$1"
		return 1
	}
}
nothing_written() {
	page && leave && [ ! -e "$config" ] && [ ! -e "$XDG_STATE_HOME" ]
}
rule "who types nothing finds no file written" nothing_written

set_and_save() {
	printf '# mine\nutc = yes # always\n\n[keys]\nF5 = sort\n' >"$config"
	page && type 'set sort address' && wait_for 'order: address' &&
	    type 'set utc no' && wait_for 'utc = no' &&
	    type save && wait_for '2 settings are saved in ' && leave &&
	    same "$config" "$(printf '# mine\nutc = no # always\nsort = address\n\n[keys]\nF5 = sort\n')"
}
rule ":save writes what was :set, and keeps the rest" set_and_save

listed() {
	page && type set && wait_for '^SETTINGS' &&
	    shows '^sort = address +# user file:3' &&
	    shows '^color = auto +# built-in' && keys Escape &&
	    wait_gone '^SETTINGS' && type 'set fps 7' && wait_for 'fps = 7' &&
	    type set && wait_for '^fps = 7 +# set on this page' &&
	    keys Escape && wait_gone '^SETTINGS' && leave &&
	    ! grep -q fps "$config"
}
rule ":set lists all with their origin, and alone writes nothing" listed

mistakes() {
	page && type 'set srot age' && wait_for "did you mean 'sort'" &&
	    type 'set sort sighs' && wait_for 'sort=sighs: not one of' &&
	    type 'set skip a #b' && wait_for 'cannot be written to a file' &&
	    type save && wait_for 'nothing has been :set' && leave
}
rule "a mistake is said and sets nothing" mistakes

linked() {
	rm -f "$config"
	printf 'utc = yes\n' >"$tmp/mine"
	chmod 644 "$tmp/mine"
	ln -s "$tmp/mine" "$config"
	page && type 'set ascii yes' && wait_for 'ascii = yes' &&
	    type save && wait_for 'is saved' && leave && [ -L "$config" ] &&
	    same "$tmp/mine" "$(printf 'utc = yes\nascii = yes')" &&
	    [ "$(stat -c %a "$tmp/mine")" = 644 ]
	rc=$?
	rm -f "$config"
	return $rc
}
rule "where a link leads the file is written, and the link stays" linked

device() {
	page --config /dev/null && type 'set ascii yes' &&
	    wait_for 'ascii = yes' && type save &&
	    wait_for 'cannot save the settings' && leave && [ -c /dev/null ]
}
rule "a device is never written over" device

bound() {
	printf '[keys]\nF5 = sort\ns = none\nw = quit\nq = none\nx = srot\n' >"$config"
	page && wait_for 'F5 sort' && shows 'w quit' && keys F5 &&
	    wait_for '^SORT' && keys p && wait_for 'order: address' && keys s &&
	    wait_for 's means nothing here' && keys '?' &&
	    wait_for '^  F6 F5 +choose the sort' && keys Escape && wait_gone '^HELP' &&
	    leave w &&
	    grep -q "config:6: no action 'srot': did you mean 'sort'?" "$tmp/said"
}
rule "keys do what the file says, and bar and help tell so" bound

coloured() {
	printf '[colors]\ncursor = white on blue\n' >"$config"
	page --color=always && wait_for '^008e6628' && keys j &&
	    until_true 10 sh -c \
		"tmux -u -S '$tmp/tmux' capture-pane -e -p -t p | grep -q '\[.*44m'" &&
	    leave && page --color=never && wait_for '^008e6628' && keys j &&
	    until_true 10 sh -c \
		"tmux -u -S '$tmp/tmux' capture-pane -e -p -t p | grep -q '\[7m'" &&
	    ! t capture-pane -e -p -t p | grep -q '44m' && leave
	rc=$?
	rm -f "$config"
	return $rc
}
rule "a colour of one's own is seen, and without colours the cursor still is" coloured

remembered() {
	rm -rf "$XDG_STATE_HOME"
	page && type 'sort address' && wait_for 'order: address' && leave &&
	    same "$history" 'command sort address' &&
	    [ "$(stat -c %a "$history")" = 600 ] &&
	    page && keys : && wait_for '^:$' && keys -l so && keys Up &&
	    wait_for '^:sort address$' && keys Down && wait_for '^:so$' &&
	    keys Escape && wait_gone '^:so' && leave &&
	    same "$history" 'command sort address'
}
rule "what was typed comes back in the next page" remembered

nowhere_to_remember() {
	rm -rf "$XDG_STATE_HOME"
	echo >"$XDG_STATE_HOME"
	page && type 'sort address' && wait_for 'order: address' && leave &&
	    same "$tmp/rc" 0 && [ "$(wc -l <"$tmp/said")" = 1 ] &&
	    grep -q 'typed lines are not saved' "$tmp/said"
	rc=$?
	cat "$tmp/said"
	rm -f "$XDG_STATE_HOME"
	return $rc
}
rule "where it cannot be kept that is said once, and nothing fails" nowhere_to_remember

completed() {
	page && keys : && wait_for '^:$' && keys -l 'se' && keys Tab &&
	    wait_for '^:set$' && keys -l 'color a' && keys Tab &&
	    wait_for 'always  auto' && keys -l u && keys Tab Enter &&
	    wait_for 'color = auto' && leave
}
rule "Tab completes commands, settings and their values" completed

# click COLUMN ROW, from 1: as a terminal of that kind tells it.
click() {
	x=$(printf "\\$(printf %o $((32 + $1)))")
	y=$(printf "\\$(printf %o $((32 + $2)))")
	keys -l "$(printf '\033[M %s%s\033[M#%s%s' "$x" "$y" "$x" "$y")"
}
mouse_is() {
	[ "$(t display -p -t p '#{mouse_any_flag}')" = "$1" ]
}
mouse() {
	page --mouse && until_true 10 mouse_is 1 && click 5 3 &&
	    wait_for 'order: address' && keys M &&
	    until_true 10 mouse_is 0 && keys M && until_true 10 mouse_is 1 &&
	    click 2 24 && click 2 24 && wait_for '^HELP' && keys Escape &&
	    wait_gone '^HELP' && leave
}
rule "a click is the page's when it was asked for" mouse

# What y has sent, as a terminal that takes it keeps it.
clip_is() {
	[ "$(t show-buffer 2>/dev/null)" = "$1" ]
}
asks() {
	t set-buffer before && page "$@" && wait_for "^008e6628" && keys j y &&
	    wait_for '^address 0x008e6628'
}
clipboard() {
	t set -g set-clipboard on
	asks --clipboard && wait_for '^address 0x008e6628, sent to the clipboard$' &&
	    until_true 10 clip_is 0x008e6628 && keys x &&
	    wait_gone '^address' && leave
}
rule "y sends the address to the clipboard when that was asked for" clipboard

# The screen is painted behind what would have been sent.
not_asked() {
	asks && wait_for '^address 0x008e6628$' && clip_is before && keys x &&
	    wait_gone '^address' && leave
}
rule "y sends nothing unasked" not_asked

not_known() {
	t set -g default-terminal vt100
	asks --clipboard && shows '^address 0x008e6628$' && clip_is before && keys x &&
	    wait_gone '^address' && leave
	held=$?
	t set -g default-terminal screen
	return $held
}
rule "y sends nothing to a terminal that does not know it" not_known

# In a shell, which is there afterwards.
shell() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 80 -y 24 'exec bash --norc'
	keys -l "PS1='ready> '" && keys Enter && wait_for '^ready> *$' &&
	    keys -l "'$pagek' --mouse demo:note" && keys Enter &&
	    wait_for '^K MEMORY BLOCKS' && until_true 10 mouse_is 1
}
given_back() {
	shell && keys C-z && wait_for Stopped && until_true 10 mouse_is 0 &&
	    keys -l fg && keys Enter && wait_for '^K MEMORY BLOCKS' &&
	    until_true 10 mouse_is 1 && keys q && until_true 10 mouse_is 0
}
rule "the terminal has its mouse back after ^Z and after q" given_back

crashed() {
	shell || return 1
	pid=$(pgrep -P "$(t display -p -t p '#{pane_pid}')") || return 1
	kill -"$1" "$pid" && wait_for "$2" && until_true 10 mouse_is 0
}
rule "... and after a crash" crashed SEGV 'Segmentation'
rule "... and after a signal that ends it" crashed TERM 'Terminated'

say_result
