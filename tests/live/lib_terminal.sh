# Sourced behind lib.sh by live tests of a page on a real terminal.  Needs tmux.
#
# t COMMAND...			tmux, with a server of this test's own.
# shot				what the session p shows.
# end_terminal			for the EXIT trap: the server and $tmp are gone.

LC_ALL=C.UTF-8
export LC_ALL
unset NO_COLOR CLICOLOR_FORCE TMUX

t() {
	tmux -u -S "$tmp/tmux" -f /dev/null "$@"
}

shot() {
	t capture-pane -p -t p
}

end_terminal() {
	t kill-server >/dev/null 2>&1
	rm -rf "$tmp"
}

trap end_terminal EXIT
trap 'exit 1' INT TERM HUP
# One session stays, so that the server does not come and go with the others.
t new-session -d -s hold -x 80 -y 24 'exec cat'
