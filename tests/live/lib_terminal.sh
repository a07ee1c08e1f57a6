# Sourced behind lib.sh by live tests of a page on a real terminal.  Needs tmux.
#
# t COMMAND...			tmux, with a server of this test's own.
# shot				what the session p shows.
# shows REGEX, hides REGEX	whether it does, now.
# wait_for REGEX		until it does; wait_gone: until it does no more.
# keys KEY...			pressed there.
# screen_is NAME [SED]		whether page K is as tests/golden/NAME.ok, which
#				PAGEK_GOLDEN=write writes anew.  A script of sed
#				comes before those that every screen has.
# unwrapped COMMAND...		the same, with a line that wrapped as one line,
#				and without empty ones.
# bar_is_back			a message has given the key bar back.
# look, on, off, wait_on, keys_to, gone, leave SESSION ...
#				the same of the page in a session of that name.
# end_terminal			for the EXIT trap: the server, $tmp and the programs
#				that were started from there are gone.

LC_ALL=C.UTF-8
export LC_ALL
unset NO_COLOR CLICOLOR_FORCE TMUX

t() {
	tmux -u -S "$tmp/tmux" -f /dev/null "$@"
}

shot() {
	t capture-pane -p -t p
}

shows() {
	shot | grep -qE -- "$1"
}

hides() {
	! shows "$1"
}

wait_for() {
	until_true 30 shows "$1" || {
		echo "never shown: $1"
		shot | grep .
		return 1
	}
}

wait_gone() {
	until_true 30 hides "$1" || {
		echo "still shown: $1"
		shot | grep .
		return 1
	}
}

keys() {
	t send-keys -t p "$@"
}

# But for numbers that change from run to run.
screen_is() {
	golden=$top/tests/golden/$1.ok
	shot | sed -E "${2-}" |
	    sed -E 's/\[[0-9]+\]/[PID]/g; s/LIVE [0-9]+ Hz/LIVE/; s/^(K MEMORY BLOCKS  0001) [^ ]+/\1 NODE/
	    s#[0-9]{2}/[0-9]{2}/[0-9]{2} +[0-9]{6}#DATE#; s#([0-9]{4}-[0-9-]{5}|-{10}) [0-9:-]{8}.*#DATE#
	    s/ENDED [0-9:]+/ENDED TIME/; s/[0-9:]{8}\.[0-9]/TIME/; s/^[0-9a-f]{12} /ADDRESS /
	    s/^[0-9.]+[um]s max.*/COSTS/; s/ +[0-9]+s( [.:-])? / AGE /; s/ +([0-9.]+k?|-) \/s//
	    s#/[^ ]*/out\.[0-9]+#OUTPUT#; s/^live .*/SUMS/; s/ hold\.c:[0-9]+//; s/ +/ /g; s/ $//' |
	    # A notice wraps where the length of a process id lets it.
	    sed -Ez 's/\n(program: nothing|nothing can)/ \1/' >"$tmp/screen"
	[ "${PAGEK_GOLDEN-}" != write ] || cp "$tmp/screen" "$golden"
	[ -s "$tmp/screen" ] && diff -u "$golden" "$tmp/screen"
}

unwrapped() (
	shot() {
		t capture-pane -pJ -t p | grep .
	}
	"$@"
)

bar_is_back() {
	wait_for '^\? help  Enter '
}

# By their exact names, for tmux takes a beginning as well.
look() {
	t capture-pane -p -t "=$1:"
}

on() {
	look "$1" | grep -qE -- "$2"
}

off() {
	! on "$1" "$2"
}

wait_on() {
	until_true 20 on "$1" "$2" || {
		echo "$1 never showed: $2"
		look "$1" | grep .
		return 1
	}
}

keys_to() {
	to=$1
	shift
	t send-keys -t "=$to:" "$@"
}

gone() {
	! t has-session -t "=$1"
}

leave() {
	keys_to "$1" q
	until_true 10 gone "$1"
}

end_terminal() {
	t kill-server >/dev/null 2>&1
	# They outlive their pages, and their nodes live as long.
	for exe in /proc/[0-9]*/exe; do
		case $(readlink "$exe") in
		"$tmp"/*)
			pid=${exe#/proc/}
			kill "${pid%/exe}"
			;;
		esac
	done 2>/dev/null
	rm -rf "$tmp"
}

trap end_terminal EXIT
trap 'exit 1' INT TERM HUP
# One session stays, so that the server does not come and go with the others.
t new-session -d -s hold -x 80 -y 24 'exec cat'
