#!/bin/sh
# The node of another machine: a real sshd on loopback, with keys, a port and a
# configuration of its own.  Needs openssh-server, openssh-client and tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
# A way there that is not looked at must not be taken.
unset PAGEK_REMOTE SSH_AUTH_SOCK SSH_ASKPASS DISPLAY

pagek=$B/pagek
torrent=$B/tests/targets/torrent
node=$XDG_RUNTIME_DIR/pagek/node
compare="python3 $top/tests/live/ssh.py"
[ -x "$torrent" ] || { echo "no $torrent: make targets"; exit 1; }
daemon=
target=
sshd=
made=
stop() {
	for p in $target $sshd $daemon; do
		kill "$p" && wait "$p"
	done
	[ -z "$made" ] || rmdir "$made"
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
for k in host wrong page reader old chatter lonely stranger; do
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
{
	key page ''
	key reader 'restrict,command="pageknode --stdio --role read"'
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

# Without its folder a privileged sshd does not start; it has no other use.
if [ "$(id -u)" = 0 ] && [ ! -d /run/sshd ]; then
	mkdir -m 755 /run/sshd && made=/run/sshd
fi
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
		port=$(free_port)
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
	for h in reader old chatter lonely stranger; do
		printf 'Host %s\n\tIdentityFile %s\n' "$h" "$s/$h"
	done
	cat <<S
Host page gone moved new nowhere
	IdentityFile $s/page
Host nowhere
	HostName nowhere.invalid
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
LD_PRELOAD=$B/liballoclog.so "$torrent" &
target=$!
is_watched() {
	[ "$("$pagek" list "pid:$target" | wc -l)" -gt 20000 ]
}
until_true 20 is_watched || { "$pagek" targets; exit 1; }
there=ssh:page/pid:$target

# Bridges of this test's machine, and ssh's.
none_left() {
	for p in $(pgrep -x 'pageknode|ssh'); do
		tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null |
		    grep -qx "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" || continue
		[ "$p" = "$daemon" ] || return 1
	done
}

# --- the same ------------------------------------------------------------------

under_load() {
	kill -USR1 "$target"
	"$pagek" -b --count 20 --interval 0.1 --wide "$there" >"$tmp/b" || {
		kill -USR1 "$target"
		cat "$tmp/b"
		return 1
	}
	kill -USR1 "$target"
	grep -q "torrent\[$target\]  LIVE" "$tmp/b" &&
	    ! grep -q UNREACHABLE "$tmp/b"
}
rule "a page over ssh follows a program under load" under_load

# The load has stopped: once the node's count stands still it is all there.
records() {
	"$pagek" targets --format json "unix:$node" | python3 -c '
import json, sys
print([t["records"] if "records" in t else t for t in
       json.load(sys.stdin)["targets"] if t.get("pid") == '"$target"'])'
}
stands_still() {
	a=$(records)
	sleep 0.2
	[ "$a" = "$(records)" ]
}
same() {
	until_true 20 stands_still || return 1
	"$pagek" list --format json "unix:$node" >"$tmp/here" &&
	    $1 "$pagek" list --format json "$there" >"$tmp/there" &&
	    $compare same "$tmp/here" "$tmp/there"
}
rule "it lists the same blocks, counts, stacks and ages as the node's list" same ''
skew='unshare -T --monotonic 90 --boottime 90'
if $skew true 2>/dev/null; then
	rule "also with a clock that is 90 s ahead of the node's" same "$skew"
else
	skip "no clock of our own can be had here"
fi

pages() {
	COLUMNS=120 "$pagek" --once --wide "unix:$node" >"$tmp/one" &&
	    COLUMNS=120 "$pagek" --once --wide "$there" >"$tmp/two" || return 1
	# Ages go on between the two, and the marks beside them.
	for f in one two; do
		grep -E '^[0-9a-f]{12}' "$tmp/$f" |
		    sed -E 's/ +[0-9]+[smhd0-9]* +[.:=+#-] / /' >"$tmp/$f.rows"
	done
	wc -l "$tmp"/*.rows
	[ "$(wc -l <"$tmp/one.rows")" -ge 20000 ] &&
	    cmp "$tmp/one.rows" "$tmp/two.rows"
}
rule "the pages of both show the same rows" pages

commands() {
	"$pagek" targets ssh:page | grep -q "^pid:$target  *torrent  *LIVE" &&
	    "$pagek" tree "$there" | grep -q main &&
	    "$pagek" tree --flat "$there" | grep -q main &&
	    "$pagek" export --folded "$there" | grep -q ';main' &&
	    "$pagek" --once "ssh:page/ALLOCLOG.torrent.$target" |
	        grep -q "torrent\[$target\]" &&
	    until_true 10 none_left
}
rule "targets, tree, groups, export and --once go that way too, and leave nothing behind" commands

path() {
	ln -s "$B/pageknode" "$s/page knode" &&
	    "$pagek" targets --remote-pageknode "$s/page knode" ssh:page |
	    grep -q torrent &&
	    PAGEK_REMOTE=$B/pageknode "$pagek" targets ssh:page |
	    grep -q torrent
}
rule "another pageknode at the other end is found by its path" path

# --- roles ---------------------------------------------------------------------

reader() {
	"$pagek" list "ssh:reader/pid:$target" | tail -n 1 | grep -q ' ' &&
	    ! "$pagek" arm "ssh:reader/pid:$target" 2>"$tmp/why" &&
	    grep -q 'not permit' "$tmp/why" || { cat "$tmp/why"; return 1; }
	# Whatever it sends, and whatever command it asks for.
	$compare end "$target" ssh reader pageknode --stdio --role control &&
	    kill -0 "$target"
}
rule "a key for reading reads, and a client that asks for more gets no more" reader
controls() {
	"$pagek" arm "$there"
}
rule "another key may do what its user may" controls

# --- sentences -----------------------------------------------------------------

# fails STATUS WORDS TARGET: one line on standard error, with these words.
fails() {
	status=$1
	words=$2
	shift 2
	setsid -w "$pagek" list "$@" >"$tmp/out" 2>"$tmp/why"
	is=$?
	cat "$tmp/why"
	[ "$is" = "$status" ] && [ ! -s "$tmp/out" ] &&
	    [ "$(wc -l <"$tmp/why")" = 1 ] && grep -q -- "$words" "$tmp/why"
}
rule "a refused key is not permitted" fails 4 \
    "ssh stranger: .*Permission denied.*: try 'ssh stranger'" ssh:stranger
rule "a closed port is unreachable" fails 3 \
    "ssh gone: .*Connection refused: does sshd run on gone?" ssh:gone
rule "a key of a host that is another is refused" fails 4 \
    "Host key verification failed: look at the host's key" ssh:moved
rule "a key of a host that nobody can be asked about, too" fails 4 \
    "Host key verification failed: look at the host's key" ssh:new
rule "no pageknode there" fails 3 \
    'not found\|No such file.*install pageknode there.*--remote-pageknode' \
    --remote-pageknode /nowhere/pageknode ssh:page
rule "an older pageknode there" fails 5 \
    'unrecognized option.*of another version' ssh:old
rule "a shell that talks" fails 3 'does its shell print something' ssh:chatter
rule "a host that begins with a dash is no option" fails 2 \
    'the name of a host goes behind' ssh:-oProxyCommand=true
version() {
	printf '#!/bin/sh\nexec python3 %s speak 2\n' "$top/tests/live/ssh.py" \
	    >"$s/future" && chmod +x "$s/future" &&
	    fails 5 'ssh page: node .*version 2, this page 1' \
	    --remote-pageknode "$s/future" ssh:page
}
rule "a node of another version says which" version
silent() {
	printf '#!/bin/sh\nexec cat >/dev/null\n' >"$s/silent" &&
	    chmod +x "$s/silent" &&
	    fails 8 'ssh page: no answer within 1' --timeout 1 \
	    --remote-pageknode "$s/silent" ssh:page
}
rule "one that does not answer has its time" silent
rule "an unknown host" fails 3 \
    "Could not resolve.*: is 'nowhere' the right name?" \
    --timeout 60 ssh:nowhere
no_ssh() {
	PATH=/nonexistent "$pagek" list ssh:page 2>"$tmp/why"
	[ $? = 1 ] && grep -q 'cannot start ssh: ' "$tmp/why"
}
rule "no ssh here" no_ssh
if [ ! -e /run/pagek/node ]; then
	rule "no node there" fails 3 \
	    "no node of .* runs here.*start one with 'pageknode" ssh:lonely
else
	skip "a node of the system runs here: that none does cannot be tried"
fi

# --- on a terminal ---------------------------------------------------------------

shows() {
	shot | grep -qE -- "$1"
}
wait_for() {
	until_true 20 shows "$1" || {
		echo "never shown: $1"
		shot | grep .
		return 1
	}
}
go() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x 110 -y 24 \
	    "PATH=$PATH '$pagek' $1; echo status \$?; exec cat"
}
asks() {
	go ssh:new && wait_for 'fingerprint.*\[fingerprint\]|yes/no' &&
	    t send-keys -t p yes Enter && wait_for "torrent\[$target\]  LIVE" &&
	    t send-keys -t p q && wait_for 'status 0' && until_true 10 none_left
}
rule "ssh asks for what it must know before the page begins" asks

killed() {
	go "$there" && wait_for "torrent\[$target\]  LIVE" &&
	    kill -9 "$(cat "$s/pid")" && wait_for UNREACHABLE &&
	    wait_for 'ssh page: ssh was ended by signal 9' &&
	    t send-keys -t p q && wait_for 'status 0' && until_true 10 none_left
}
rule "a page whose ssh is killed says UNREACHABLE, and why" killed

say_result
