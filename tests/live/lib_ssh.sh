# Sourced behind lib.sh and lib_terminal.sh by tests of nodes behind ssh: a real
# sshd on loopback, with keys, a port and a configuration of its own, a node and
# a target of that node.  Needs openssh-server and openssh-client; without them
# the test ends here, skipped.
#
# $there			the target, by way of the host `page`: a torrent of
#			5,000 blocks.
# start_sshd [PORT]		sshd, at a free port or that one.
# go WORDS			a page on the session p: `pagek WORDS`.
# none_left			no ssh and no bridge of this test runs.

# A way there that is not looked at must not be taken.
unset PAGEK_REMOTE SSH_AUTH_SOCK SSH_ASKPASS SSH_ASKPASS_REQUIRE DISPLAY

pagek=$B/pagek
torrent=$B/tests/targets/torrent
node=$XDG_RUNTIME_DIR/pagek/node
compare="python3 $top/tests/live/ssh.py"
[ -x "$torrent" ] || { echo "no $torrent: make targets"; exit 1; }
daemon=
target=
sshd=
helpers=
stop() {
	for p in $target $sshd $daemon $helpers; do
		kill -CONT "$p"
		kill "$p" && wait "$p"
	done
	end_terminal
} >/dev/null 2>&1
trap stop EXIT
trap 'exit 1' TERM INT

real_ssh=$(command -v ssh)
sshd_program=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd)
if [ -z "$real_ssh" ] || [ -z "$sshd_program" ]; then
	skip "there is no ssh, or no sshd"
	say_result
	exit
fi

# --- another machine ---------------------------------------------------------

s=$tmp/ssh
mkdir -m 700 "$s" "$s/bin"
for k in host wrong page reader gate far old chatter lonely stranger; do
	ssh-keygen -q -t ed25519 -N '' -C "$k" -f "$s/$k" || exit 1
done
key() {
	printf '%s ' "$2"
	cat "$s/$1.pub"
}
# What the users of keys get, whatever they ask for.
cat >"$s/old.sh" <<'S'
echo "pageknode: unrecognized option '--stdio'" >&2
exit 2
S
cat >"$s/lonely.sh" <<S
XDG_RUNTIME_DIR=$s/empty exec pageknode --stdio
S
mkdir -m 700 "$s/empty"
cat >"$s/far.sh" <<S
SSH_CONNECTION='192.0.2.7 51234 192.0.2.1 22' exec pageknode --stdio
S
{
	key page ''
	key reader 'restrict,command="pageknode --stdio --role read"'
	key gate 'restrict,command="pageknode --stdio --node 0A12"'
	# As if from another machine.
	key far "restrict,command=\"sh $s/far.sh\""
	key old "restrict,command=\"sh $s/old.sh\""
	key chatter 'restrict,command="echo Welcome to this machine; cat"'
	key lonely "restrict,command=\"sh $s/lonely.sh\""
} >"$s/authorized"
cat >"$s/sshd_config" <<S
ListenAddress 127.0.0.1
HostKey $s/host
PidFile none
AuthorizedKeysFile $s/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
SetEnv "PATH=$B:/usr/bin:/bin" "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR"
S

# Without its folder a privileged sshd lets nobody in.  It stays: another run of
# these tests may need it by now.
[ "$(id -u)" != 0 ] || mkdir -p -m 755 /run/sshd || exit 1
free_port() {
	python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
listens() {
	grep -q 'Server listening' "$s/log" || ! kill -0 "$sshd"
}
start_sshd() {
	for try in 1 2 3; do
		port=${1:-$(free_port)}
		: >"$s/log"
		"$sshd_program" -D -e -f "$s/sshd_config" -p "$port" \
		    2>"$s/log" &
		sshd=$!
		until_true 10 listens
		kill -0 "$sshd" 2>/dev/null && return
		sshd=
	done
	cat "$s/log"
	return 1
}
start_sshd || exit 1

# --- this machine --------------------------------------------------------------

cat >"$s/bin/ssh" <<S
#!/bin/sh
echo \$\$ >"$s/pid"
exec "$real_ssh" -F "$s/config" "\$@"
S
chmod +x "$s/bin/ssh"
PATH=$s/bin:$PATH
closed=$(free_port)
{
	for h in reader gate far old chatter lonely stranger; do
		printf 'Host %s\n\tIdentityFile %s\n' "$h" "$s/$h"
	done
	cat <<S
Host page gone moved new nowhere
	IdentityFile $s/page
Host nowhere
	HostName nowhere.invalid
Host deaf
	ProxyCommand sh -c 'cat >/dev/null; :'
Host gone
	Port $closed
Host moved
	UserKnownHostsFile $s/known.wrong
Host new
	UserKnownHostsFile $s/known.new
	StrictHostKeyChecking ask
Host *
	HostName 127.0.0.1
	Port $port
	IdentitiesOnly yes
	UserKnownHostsFile $s/known
	GlobalKnownHostsFile /dev/null
S
} >"$s/config"
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$s/host.pub")" >"$s/known"
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$s/wrong.pub")" >"$s/known.wrong"

"$B/pageknode" --no-supervisor 2>"$tmp/said" &
daemon=$!
serves() {
	"$pagek" targets "unix:$node"
}
until_true 10 serves || { cat "$tmp/said"; exit 1; }
start_watched "$torrent" 5000 || exit 1
target=$watched
is_watched() {
	[ "$("$pagek" list "pid:$target" | wc -l)" -gt 5000 ]
}
until_true 20 is_watched || { "$pagek" targets; exit 1; }
there=ssh:page/pid:$target

# Bridges of this test's machine, and ssh's.
none_left() {
	for p in $(pgrep -x 'pageknode|ssh'); do
		tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null |
		    grep -qx "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" || continue
		[ "$p" = "$daemon" ] ||
		    [ "$(ps -o ppid= -p "$p")" -eq "$daemon" ] || return 1
	done
}

# --- a page on a terminal ------------------------------------------------------

go() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 24 \
	    "PATH=$PATH '$pagek' $1; echo status \$?; exec cat"
}
