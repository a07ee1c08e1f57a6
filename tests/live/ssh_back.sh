#!/bin/sh
# Links behind ssh that are lost, by whatever ends them, and come back by
# themselves.  Needs openssh-server, openssh-client and tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
. "$(dirname "$0")/lib_ssh.sh"

# A port that swallows what it is told to: see ssh.py.
$compare hole "$port" >"$tmp/hole" &
hole=$!
helpers="$helpers $hole"
until_true 10 test -s "$tmp/hole" || exit 1
ssh-keygen -q -t ed25519 -N secret -C locked -f "$s/locked" || exit 1
key locked '' >>"$s/authorized"
mv "$s/config" "$s/config.plain"
{
	cat <<S
Host far hop jumped walled thick shared
	IdentityFile $s/page
Host locked
	IdentityFile $s/locked
Host far
	Port $(cat "$tmp/hole")
	HostKeyAlias [127.0.0.1]:$port
Host jumped
	ProxyJump hop
Host walled
	ProxyJump locked
Host hop
	UserKnownHostsFile $s/known.hop
Host thick
	RemoteCommand echo this is no pageknode
	RequestTTY force
	LocalForward $port 127.0.0.1:1
	ExitOnForwardFailure yes
	PermitLocalCommand yes
	LocalCommand echo this is no pageknode
	ControlMaster auto
	ControlPath $s/thick
	ControlPersist 60
Host shared
	ControlPath $s/shared
S
	cat "$s/config.plain"
} >"$s/config"

live() {
	wait_for "torrent\[$target\]  LIVE"
}
# A notice takes one of the last lines.
rows() {
	shot | sed -nE 's/^([0-9a-f]{12}).*/\1/p' | head -n 10
}
# Nobody can log in; what is logged in goes on.
hold() {
	kill -STOP "$sshd"
}
let_in() {
	kill -CONT "$sshd"
}
lose() {
	kill -9 "$(cat "$s/pid")"
}
leave() {
	keys q && wait_for 'status 0' && until_true 10 none_left
}
enter() {
	keys Enter
}

# --- what ends it --------------------------------------------------------------

ssh_killed() {
	go "$there" && live && wait_for 'act 5,000' || return 1
	before=$(rows)
	hold
	lose
	wait_for UNREACHABLE && wait_for 'ssh page: ssh was ended by signal 9' &&
	    wait_for 'picture is [0-9]+s old' && wait_for 'UNREACHABLE .*trying' &&
	    [ "$(rows)" = "$before" ] && let_in && live &&
	    [ "$(rows)" = "$before" ] && [ -n "$before" ]
}
rule "a page whose ssh is killed keeps its picture, and comes back" ssh_killed

bridge_killed() {
	hold
	for p in $(pgrep -x pageknode); do
		[ "$p" != "$daemon" ] && tr '\0' '\n' <"/proc/$p/cmdline" |
		    grep -qx -- --stdio && tr '\0' '\n' <"/proc/$p/environ" |
		    grep -qx "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" && kill -9 "$p"
	done
	wait_for 'pageknode was killed there' && let_in && live
}
rule "so does one whose bridge is killed" bridge_killed

sshd_killed() {
	kill -9 "$sshd"
	wait "$sshd" 2>/dev/null
	lose
	wait_for 'Connection refused: does sshd run on page' &&
	    wait_for 'UNREACHABLE .*retry in [0-9]+s' &&
	    wait_for 'Enter tries now' || return 1
	# What follows is with few logins at a time.
	echo 'MaxStartups 3:100:3' >>"$s/sshd_config"
	start_sshd "$port" && enter && live
}
rule "one whose sshd was killed comes back when that is there, at once by Enter" \
    sshd_killed

refused() {
	mv "$s/authorized" "$s/authorized.away"
	lose
	wait_for 'DENIED' && wait_for 'Permission denied' || return 1
	before=$(cat "$s/pid")
	! shows 'retry in|trying' && mv "$s/authorized.away" "$s/authorized" &&
	    ! until_true 1 shows LIVE && [ "$(cat "$s/pid")" = "$before" ] &&
	    enter && live && leave
}
rule "a key that is refused ends the tries until Enter" refused

hidden() {
	go "ssh:far/pid:$target" && live && kill -USR1 "$hole" &&
	    wait_for 'UNREACHABLE' && wait_for 'the node has not answered for' &&
	    wait_for 'Timeout, server .*is the network to far gone' &&
	    kill -USR1 "$hole" && live && leave
}
rule "a network that swallows everything is noticed, and its return too" hidden

# --- what is not asked ---------------------------------------------------------

# is_not_asked HOST ANSWER QUESTION: it asks once, and never over the page.
is_not_asked() {
	go "ssh:$1/pid:$target" && wait_for "$3" && keys "$2" Enter &&
	    live && rm -f "$s/known.hop" "$s/known.new" && lose &&
	    wait_for "$4" && wait_for DENIED && ! shows "$3" && leave
}
rule "a passphrase is asked for before the page, and not again" is_not_asked \
    locked secret 'Enter passphrase' \
    'Permission denied.*start the page again'
rule "a host's key likewise" is_not_asked new yes 'yes/no' \
    'Host key verification failed.*start the page again'
sed -i 's/^Host hop$/&\n\tStrictHostKeyChecking ask/' "$s/config"
rule "also that of a jump before it, which a try knows nothing of" \
    is_not_asked jumped yes 'yes/no' 'Host key verification failed'

windows() {
	printf '#!/bin/sh\necho "$1" >>%s\necho secret\n' "$s/windows" \
	    >"$s/askpass" && chmod +x "$s/askpass" || return 1
	SSH_ASKPASS=$s/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=:99 \
	    "$pagek" -b --interval 0.2 --timeout 5 "ssh:walled/pid:$target" \
	    >"$tmp/b" 2>"$tmp/why" &
	b=$!
	until_true 20 grep -q 'LIVE' "$tmp/b" && lose
	wait "$b"
	is=$?
	cat "$tmp/why" "$s/windows"
	[ "$is" = 4 ] && [ "$(wc -l <"$s/windows")" = 1 ] &&
	    grep -q 'DENIED: ssh walled: .*Permission denied' "$tmp/why"
}
rule "no window asks either, not for a jump, and pagek -b ends not permitted" \
    windows

# --- configurations ------------------------------------------------------------

thick() {
	"$pagek" targets ssh:thick >"$tmp/out" && grep -q torrent "$tmp/out" &&
	    ! ssh -O check thick && [ ! -e "$s/thick" ]
}
rule "commands, forwardings and masters of a configuration are for logins" thick
jumps() {
	ssh-keygen -q -F "[127.0.0.1]:$port" -f "$s/known" >"$s/known.hop" &&
	    "$pagek" targets "ssh:jumped" | grep -q torrent
}
rule "a jump of the configuration is taken" jumps
shared() {
	ssh -fNM shared && go "ssh:shared/pid:$target" && live &&
	    ssh -O check shared && hold && ssh -O exit shared &&
	    wait_for UNREACHABLE && let_in && live && leave
}
rule "a connection that is shared is used, and done without when it is gone" \
    shared

# --- many, and text ------------------------------------------------------------

storm() {
	pids=
	for i in 1 2 3 4 5 6 7 8; do
		"$pagek" targets --timeout 60 ssh:page >"$tmp/storm.$i" 2>&1 &
		pids="$pids $!"
	done
	bad=0
	for p in $pids; do
		wait "$p" || bad=$((bad + 1))
	done
	grep -h pagek: "$tmp"/storm.*
	grep MaxStartups "$s/log" && [ "$bad" = 0 ]
}
rule "pages that begin at once all come in where sshd takes three at a time" storm

goes_on() {
	kill -USR1 "$target"
	"$pagek" -b --interval 0.1 --count 40 --timeout 60 \
	    "$there" >"$tmp/b" 2>&1 &
	b=$!
	for i in 1 2 3; do
		n=$(grep -c 'LIVE' "$tmp/b")
		until_true 20 eval '[ "$(grep -c LIVE "$tmp/b")" -gt $((n + 3)) ]'
		lose
	done
	wait "$b"
	is=$?
	kill -USR1 "$target"
	grep '^K MEMORY BLOCKS' "$tmp/b" >"$tmp/heads"
	grep -nE 'UNREACHABLE|pagek:' "$tmp/b"
	echo "status $is, $(wc -l <"$tmp/heads") pictures"
	[ "$is" = 0 ] && [ "$(wc -l <"$tmp/heads")" = 40 ] &&
	    ! tail -n 1 "$tmp/heads" | grep -qE 'UNREACHABLE|CONNECTING'
}
rule "pagek -b goes on over links that are lost, under load" goes_on

ends() {
	"$pagek" -b --interval 0.2 --timeout 2 "$there" >"$tmp/b" 2>"$tmp/why" &
	b=$!
	until_true 20 grep -q 'LIVE' "$tmp/b"
	kill -9 "$sshd"
	wait "$sshd" 2>/dev/null
	lose
	wait "$b"
	is=$?
	cat "$tmp/why"
	start_sshd "$port"
	[ "$is" = 3 ] && [ "$(wc -l <"$tmp/why")" = 1 ] &&
	    grep -q 'ssh page: .*Connection refused' "$tmp/why"
}
rule "and ends with the reason when its time is over" ends

# --- the node ------------------------------------------------------------------

node_killed() {
	go "$there" && live || return 1
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	if [ -e /run/pagek/node ]; then
		echo "the system's node is there instead"
	else
		wait_for UNREACHABLE && wait_for 'no node of .* runs here' ||
		    return 1
	fi
	"$B/pageknode" 2>"$tmp/said" &
	daemon=$!
	until_true 10 serves && enter &&
	    wait_for 'restarted|LIVE' && leave
}
rule "a node that was killed and started anew is found" node_killed

# This one has a supervisor, and a target of its own.
node_restarted() {
	kill "$target"
	wait "$target"
	start_watched "$torrent" 5000 || return 1
	target=$watched
	until_true 20 is_watched && go "ssh:page/pid:$target" && live &&
	    wait_for 'act 5,000' || return 1
	before=$(rows)
	login=$(cat "$s/pid")
	kill -9 "$(pgrep -P "$daemon" -x pageknode)"
	until_true 20 another_login && wait_for 'restarted|LIVE' || return 1
	# A list that is shown as LIVE is the whole one.
	! shows LIVE || [ "$(rows)" = "$before" ] && leave
}
another_login() {
	[ "$(cat "$s/pid")" != "$login" ]
}
rule "one that its supervisor has started again is found, too" node_restarted

say_result
