#!/bin/sh
# NODE<> with nodes of other machines: the page goes on while ssh finds its way,
# and nobody is asked for anything.  Needs openssh-server, openssh-client, tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
. "$(dirname "$0")/lib_ssh.sh"
mkdir -p "$XDG_CONFIG_HOME/pagek"
cat >"$XDG_CONFIG_HOME/pagek/nodes" <<T
0590 linac-a unix:$node
0509 linac-b ssh:page
0A12 gone ssh:gone
0B00 stranger ssh:stranger
T
write() {
	keys Tab Enter
	keys -l "$1"
	keys Enter
}
ends() {
	keys q
	wait_for 'status 0' && until_true 10 none_left
}
here() {
	wait_for "0590 linac-a  torrent\[$target\]  LIVE"
}
there() {
	wait_for "0509 linac-b  torrent\[$target\]  LIVE"
}
back() {
	keys :
	keys -l back
	keys Enter
}

goes() {
	go 0590 && here && write 0509 && there && back && here &&
	    until_true 10 none_left && write "0509/pid:$target" && there &&
	    back && here && ends
}
rule "a node behind ssh by its number, and by its target, and back" goes
began() {
	go 0509 && there && write 0590 && here && until_true 10 none_left &&
	    back && there && ends
}
rule "a page that began there comes back to it" began
# sshd does not answer while it is stopped.
called_off() {
	go 0590 && here && kill -STOP "$sshd" && write 0509 &&
	    wait_for 'going to 0509 linac-b' && here && keys Escape &&
	    wait_for 'stayed here' && until_true 10 none_left && here
	r=$?
	kill -CONT "$sshd"
	[ $r = 0 ] && ends
}
rule "Esc ends the ssh that is on its way" called_off
quits() {
	go 0590 && here && kill -STOP "$sshd" && write 0509 &&
	    wait_for 'going to 0509 linac-b' && ends
	r=$?
	kill -CONT "$sshd"
	return $r
}
rule "so does q" quits
# down NAME WORDS: where one has arrived says why there is nothing.
down() {
	go 0590 && here && write "$1" && wait_for "$2" && wait_for "$3" &&
	    back && here && ends
}
rule "a machine that cannot be reached says so on its own page" \
    down gone '0A12 gone .*UNREACHABLE' 'Connection refused'
rule "one that does not let us in, too" \
    down stranger '0B00 stranger .*DENIED' 'Permission denied'

say_result
