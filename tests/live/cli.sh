#!/bin/sh
# The command line: what goes to which stream, with which exit status, and
# what is said when it is wrong.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek

# refused STATUS WORDS ARGUMENTS...: nothing on stdout, one line on stderr that
# begins with "pagek: " and has the words in it, no escape anywhere.
refused() {
	want=$1
	words=$2
	shift 2
	"$pagek" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	cat "$tmp/err"
	[ "$got" = "$want" ] || { echo "status $got, not $want"; return 1; }
	[ ! -s "$tmp/out" ] || { echo "stdout is not empty"; return 1; }
	[ "$(wc -l <"$tmp/err")" = 1 ] || { echo "not one line"; return 1; }
	grep -q "^pagek: " "$tmp/err" && grep -q -- "$words" "$tmp/err" &&
	    plain "$tmp/err"
}

plain() {
	! LC_ALL=C grep -q "$(printf '\033')" "$1"
}

# prints WORDS ARGUMENTS...: on stdout, status 0, nothing on stderr.
prints() {
	words=$1
	shift
	"$pagek" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || return 1
	[ ! -s "$tmp/err" ] && grep -q -- "$words" "$tmp/out" &&
	    plain "$tmp/out"
}

# --- help and version
rule "--help goes to stdout and names every command" \
    prints "usage: pagek" --help
for c in $("$pagek" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
	rule "$c --help goes to stdout" prints "usage: pagek $c " $c --help
	rule "$c --version goes to stdout" prints "^pagek [0-9]" $c --version
done
rule "help explains a command" prints "usage: pagek run" help run
rule "help of an option names each of its values" \
    prints "|function|module|file|line|site$" help list

# --- off a terminal
rule "the page off a terminal is refused, and text is offered" \
    refused 2 "pagek list.*-b" demo:1
with_term() {
	(TERM=$1 && export TERM && refused 2 "pagek list" demo:1)
}
for term in dumb no-such-terminal ''; do
	rule "TERM='$term' is refused the same" with_term "$term"
done

# --- words of the user's
odd=$(printf 'a\033[31mb\nc\001\t')
# one_line PROGRAM ARGUMENTS...: fails, and says why in one line of plain text.
one_line() {
	"$@" >"$tmp/out" 2>&1 </dev/null && return 1
	cat -v "$tmp/out"
	[ "$(wc -l <"$tmp/out")" = 1 ] &&
	    ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$tmp/out"
}
node_words() {
	for word in "./$odd" "--$odd" "-$odd" "--free-stack=$odd" \
	    "--max=$odd" "--demo=$odd" "--device=$odd" "--node=$odd" \
	    "--role=$odd" "--report=/nowhere/$odd"; do
		one_line "$B/pageknode" "$word" true || return 1
	done
	one_line "$B/pageknode" -- "/nowhere/$odd"
}
page_words() {
	for word in "$odd" "--$odd" "--sort=$odd" "raw:$odd" \
	    "unix:/nowhere/$odd" "--output=/nowhere/$odd"; do
		one_line "$pagek" list "$word" || return 1
	done
	one_line "$pagek" run -b -- "/nowhere/$odd" &&
	    one_line "$pagek" check --baseline "/nowhere/$odd/x" -- true &&
	    one_line "$pagek" diff "$odd" "$odd" &&
	    one_line "$pagek" stats "$odd"
}
rule "pageknode writes no control characters of a word" node_words
rule "pagek writes no control characters of a word" page_words

# --- bad input
rule "an unknown option is an error" \
    refused 2 "unknown option '--nonsense'.*--help" --nonsense
rule "a mistyped option is answered with the nearest" \
    refused 2 "did you mean '--once'" --onec
rule "a mistyped command is answered with the nearest" \
    refused 2 "did you mean 'top'" tpo
rule "an option of another command is not ignored" \
    refused 2 "takes no option --report" list --report x
rule "an unknown demo is no target" refused 3 "demo:note" list demo:nope
rule "a process that is not watched is no target" \
    refused 3 "pagek run" list pid:$$
rule "a process that is not there is no target" \
    refused 3 "there is no process" list pid:999999999
rule "the number of a live process suggests pid:" \
    refused 3 "did you mean pid:$$" list $$
rule "a socket that is not there is no target" \
    refused 3 "No such file" list unix:"$tmp/none"
rule "a file with a slash is taken for a capture" \
    refused 5 "not a capture" list "$tmp/rule.out"
rule "a number that no node has is no target" \
    refused 3 "no node has the number 0590" list node:0590
rule "so is a name that no node and no target has" \
    refused 3 "no target or node 'nobody'" list nobody
rule "a host whose user has no name is none" \
    refused 2 "ssh: needs the name of a host" list ssh:@host
rule "a capture that is not there is none" \
    refused 3 "/x: No such file" list file:/x
rule "no node at all is said, and how to start one" \
    refused 3 "pagek run" list
rule "output that cannot be written is an error" \
    refused 1 "cannot write '/no/such/file'" list -o /no/such/file demo:note
rule "a report that cannot be written is said before anything is started" \
    refused 125 "cannot write '/no/such/file'" \
    run --report /no/such/file -- touch "$tmp/started"
rule "nothing was started then" test ! -e "$tmp/started"
full_device() {
	"$pagek" list demo:1 >/dev/full 2>"$tmp/err"
	[ $? = 1 ] && grep -q "cannot write standard output: No space left" "$tmp/err"
}
rule "a full device is an error" full_device
few_descriptors() {
	# The runner may have left descriptors open.
	sh -c "ulimit -n $1; exec '$2' $3" >"$tmp/out" 2>"$tmp/err" 3>&- 4>&-
	status=$?
	cat "$tmp/err"
	[ $status -lt 128 ] &&
	    grep -qi "cannot start: too many open files; .*ulimit -n" "$tmp/err"
}
for n in 4 5; do
	rule "with $n descriptors pagek ends with a sentence, not by a signal" \
	    few_descriptors $n "$pagek" "list demo:1"
done
rule "so does pageknode" few_descriptors 4 "$B/pageknode" "--no-supervisor"
closed_errors() {
	"$pagek" run -b -- "$@" 2>&- && "$pagek" check --max-live 1G -- "$@" 2>&- &&
	    ! "$pagek" run -b -- sh -c 'exit 3' 2>&-
	status=$?
	"$pagek" run -b -- sh -c 'exit 3' 2>&-
	[ "$status $?" = "0 3" ]
}
rule "a pagek without standard error has the command's status all the same" \
    closed_errors true
full_again() {
	for how in "watch" "-b" "-b --format ndjson"; do
		"$pagek" $how --interval 0.1 --count 3 demo:1 >/dev/full \
		    2>"$tmp/err"
		[ $? = 1 ] && grep -q "No space left on device" "$tmp/err" ||
			{ echo "$how"; cat "$tmp/err"; return 1; }
	done
}
rule "and it is said which, of what comes again and again" full_again
full_once() {
	for how in "--once demo:1" "--once --page G --timeout 1" "tree demo:1" \
	    "export --folded demo:1" "completion bash" "completion zsh" \
	    "completion fish" "help list"; do
		"$pagek" $how >/dev/full 2>"$tmp/err"
		[ $? = 1 ] && grep -q "No space left on device" "$tmp/err" ||
			{ echo "$how"; cat "$tmp/err"; return 1; }
	done
}
rule "and of what is longer than what is kept back" full_once

# --- the note's page
note_page >"$tmp/note"
note() {
	"$pagek" --once --classic=strict --sort p --at 39s "$@" demo:note \
	    >"$tmp/out" 2>"$tmp/err" && cmp "$tmp/note" "$tmp/out" &&
	    [ ! -s "$tmp/err" ]
}
rule "demo:note comes out as the note printed it, byte for byte" note
for l in note indexed check; do
	rule "so it does with --list=$l" note --list=$l
done
note_reversed() {
	"$pagek" --once --classic=strict --sort address --reverse --at 39s \
	    demo:note | sed -n '4,$p' >"$tmp/out"
	sed -n '4,$p' "$tmp/note" | tac | cmp - "$tmp/out"
}
rule "--reverse turns its rows around" note_reversed
no_alloclog() {
	"$pagek" --once --stream MEMLOG demo:note >"$tmp/out" 2>"$tmp/err"
	[ $? = 3 ] && grep -q "NO ALLOCLOG" "$tmp/out" &&
	    grep -q "^pagek: NO ALLOCLOG" "$tmp/err"
}
rule "renaming the stream makes the page say NO ALLOCLOG" no_alloclog
since_click() {
	"$pagek" --once --since click --at 39s --classic demo:note >"$tmp/out"
	grep -q "^NODE<0590> \*L<0509>    0 " "$tmp/out"
}
rule "--since click shows nothing that was there before" since_click

# --- list
same_rows() {
	"$pagek" list demo:1 >"$tmp/a" 2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
	    "$pagek" list demo:1 >"$tmp/b" && cmp "$tmp/a" "$tmp/b" &&
	    [ "$(wc -l <"$tmp/a")" -gt 1000 ] && plain "$tmp/a"
}
rule "list prints the same rows in each run, and no escapes" same_rows
head_one() {
	{ "$pagek" list demo:1 2>"$tmp/err"; echo $? >"$tmp/status"; } |
	    head -n 1 >/dev/null
	[ "$(cat "$tmp/status")" = 0 ] && [ ! -s "$tmp/err" ]
}
rule "a reader that goes away is no error" head_one
limit() {
	[ "$("$pagek" list --limit 7 demo:1 | wc -l)" = 8 ]
}
rule "--limit counts blocks" limit
output() {
	"$pagek" list -o "$tmp/f" demo:note >"$tmp/out" &&
	    [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/f")" = 7 ]
}
rule "-o writes to a file and nothing to stdout" output
small_list() {
	"$pagek" list --max 3 demo:note >"$tmp/out" 2>"$tmp/err"
	[ "$(wc -l <"$tmp/out")" = 4 ] &&
	    grep -q 'list full: [1-9].*INCOMPLETE' "$tmp/err"
}
rule "--max bounds the list, and that is told" small_list

# --- json
json() {
	"$pagek" "$@" >"$tmp/json" 2>"$tmp/err" </dev/null &&
	    [ ! -s "$tmp/err" ] && python3 - "$tmp/json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "pagek.blocks/2", d["schema"]
assert d["lost"] == 0 and d["complete"] is True
b = d["blocks"]
assert len(b) == d["counts"]["aRecActive"] > 0
for x in b:
    assert x["address"].startswith("0x") and int(x["address"], 16) > 0
    assert isinstance(x["size"], int) and x["time"].endswith("Z")
    assert x["thread"] != "" and x["function"] != ""
if d["node"]["number"] == "0590":
    assert [x["requester"] for x in b].count("AB86") == 1
    assert b[0]["thread"] is None and b[0]["caller"] is None
else:
    assert all(x["function"] for x in b if x["caller"])
PY
}
rule "list --format json of the note is what its schema says" \
    json list --format json demo:note
rule "list --format json of a busy target has every name" \
    json list --format json demo:1
rule "--once --format json is the same" json --once --format json demo:note

# --- targets
no_targets() {
	"$pagek" targets >"$tmp/out" 2>"$tmp/err"
	[ $? = 0 ] && [ ! -s "$tmp/out" ] && grep -q "pagek run" "$tmp/err"
}
rule "targets of nobody is an empty list and a hint" no_targets
rule "targets of a demo is one row" prints "demo-1  *LIVE" targets demo:1
targets_json() {
	"$pagek" targets --format json demo:1 | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "pagek.targets/1" and len(d["targets"]) == 1
assert d["targets"][0]["state"] == "LIVE"'
}
rule "targets --format json is what its schema says" targets_json

# --- settings
settings=$XDG_CONFIG_HOME/pagek/config
mkdir -p "$XDG_CONFIG_HOME/pagek"
# settings_are COMMAND...: makes what lies there; the page is the note's, one
# line at most is said, and nothing has been written.
settings_are() {
	words=$1
	shift
	rm -rf "$settings" && "$@" || return 1
	ls -laR "$XDG_CONFIG_HOME" >"$tmp/before"
	timeout 20 "$pagek" --once --sort p --classic=strict --at 39s demo:note \
	    >"$tmp/out" 2>"$tmp/err" || return 1
	ls -laR "$XDG_CONFIG_HOME" | cmp - "$tmp/before" &&
	    cmp "$tmp/note" "$tmp/out" || return 1
	cat "$tmp/err"
	case $words in
	'') [ ! -s "$tmp/err" ] ;;
	*) [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$words" "$tmp/err" ;;
	esac
}
other() {
	echo 'ascii = yes' >"$tmp/settings"
	ln -s "$tmp/settings" "$settings"
}
bad_line() {
	printf 'ascii = yes\nslort = age\n' >"$settings"
}
unreadable() {
	echo 'ascii = yes' >"$settings" && chmod 0 "$settings"
}
rule "settings that are not there" settings_are '' true
rule "settings behind a link" settings_are '' other
rule "settings with a bad line" \
    settings_are "config:2: .* did you mean 'sort'" bad_line
rule "settings that are a device" \
    settings_are 'not a regular file' ln -s /dev/null "$settings"
rule "settings that are a FIFO" settings_are 'not a regular file' mkfifo "$settings"
rule "settings that are a folder" settings_are 'directory' mkdir "$settings"
rule "settings behind a link to nothing" \
    settings_are 'leads nowhere' ln -s /no/such/file "$settings"
if [ "$(id -u)" != 0 ]; then
	rule "settings that may not be read" \
	    settings_are 'Permission denied' unreadable
fi
rm -rf "$settings"
in_the_file() {
	printf 'sort = address\nreverse = yes\n[nodes]\n' >"$settings"
	"$pagek" --once --classic=strict --at 39s demo:note 2>"$tmp/err" |
	    cmp - "$tmp/note" && [ "$(wc -l <"$tmp/err")" = 2 ] &&
	    "$pagek" --once --classic=strict --at 39s --no-config demo:note \
	    2>"$tmp/err" | grep -A1 ADDRESS | grep -q '^008E6628' &&
	    [ ! -s "$tmp/err" ]
}
rule "the file's order holds, and --no-config is without it" in_the_file
shown() {
	echo 'fps = 3' >"$tmp/mine"
	"$pagek" config --show --config "$tmp/mine" --stack 3 >"$tmp/out" \
	    2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
	    grep -q "^fps = 3  *# user file $tmp/mine:1\$" "$tmp/out" &&
	    grep -q '^stack = 3  *# option$' "$tmp/out" &&
	    grep -q '^timeout = 10  *# built-in$' "$tmp/out" || return 1
	# What is shown can be a file.
	PAGEK_CONFIG=$tmp/out "$pagek" config --show 2>"$tmp/err" |
	    sed 's/ *#.*//' >"$tmp/again" &&
	    sed 's/ *#.*//' "$tmp/out" | cmp - "$tmp/again" &&
	    [ ! -s "$tmp/err" ]
}
rule "config --show tells values and origins, in the form of a file" shown
asked_for() {
	"$pagek" list --config /no/such/file demo:note >"$tmp/out" \
	    2>"$tmp/err" && [ -s "$tmp/out" ] &&
	    grep -q "cannot read '/no/such/file': No such file" "$tmp/err"
}
rule "a file that was asked for and is not there is said" asked_for
rm -rf "$settings"

# --- a live target
# Under a shell that runs its list in the background, INT is ignored from the
# start; the tests below need it as a user's shell leaves it.
watched() {
	env --default-signal=INT,TERM,HUP,QUIT \
	    "$pagek" run -b -o "$tmp/page" -- "$@" >"$tmp/stdout" \
	    2>"$tmp/stderr" &
	page=$!
}
is_watched() {
	"$pagek" targets 2>/dev/null | grep -q "$1 .*LIVE"
}
live_pid() {
	"$pagek" targets | sed -n "s/^pid:\([0-9]*\) *$1 .*LIVE.*/\1/p" |
	    head -n 1
}
# It has just begun, and may still allocate between two of the lists.
found_alike() {
	"$pagek" list pid:"$1" >"$tmp/a" && "$pagek" list >"$tmp/b" &&
	    "$pagek" list "$(ls "$XDG_RUNTIME_DIR"/pagek/run.* |
	    grep -v hello)" >"$tmp/c" || return 1
	for f in a b c; do
		awk '{ print $1, $2, $3, $4 }' "$tmp/$f" >"$tmp/$f.rows"
	done
	cmp "$tmp/a.rows" "$tmp/b.rows" && cmp "$tmp/a.rows" "$tmp/c.rows" &&
	    [ "$(wc -l <"$tmp/a")" -gt 1 ]
}
by_name() {
	watched sleep 60
	until_true 10 is_watched sleep || return 1
	until_true 10 found_alike "$(live_pid sleep)"
	status=$?
	kill -TERM $page
	wait $page
	[ $? = 143 ] && [ $status = 0 ]
}
rule "a target is found by pid, by socket, and as the newest" by_name

passed_on() {
	rm -f "$tmp/trapped"
	watched sh -c 'trap "echo got '"$1"'; exit 9" '"$1"'; : >"$0"
	    i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done' "$tmp/trapped"
	until_true 10 is_watched sh && until_true 10 test -e "$tmp/trapped" ||
	    return 1
	kill -"$1" $page
	wait $page
	[ $? = 9 ] && [ "$(cat "$tmp/stdout")" = "got $1" ]
}
for s in TERM INT HUP; do
	rule "$s sent to run -b goes on to the command, once" passed_on $s
done

exit_of() {
	want=$1
	shift
	"$pagek" run -b -o /dev/null -- "$@" >/dev/null 2>&1 </dev/null
	[ $? = "$want" ]
}
rule "run -b ends as its command did" exit_of 7 sh -c 'exit 7'
full_page() {
	"$pagek" run -b -o /dev/full -- sh -c "exit $1" 2>"$tmp/err"
	[ $? = "$2" ] && cat "$tmp/err" &&
	    grep -q "^pagek: cannot write '/dev/full': No space" "$tmp/err"
}
rule "a page that cannot be written is no success" full_page 0 125
rule "but no other status of the command is lost for it" full_page 7 7
rule "run -b ends with 128 and the signal" exit_of 143 sh -c 'kill -TERM $$'
rule "a command that is not there is 127" exit_of 127 /no/such/command
rule "a command that is no program is 126" exit_of 126 /etc/passwd
rule "and it is said in one line" \
    refused 127 "cannot run '/no/such/command'" run -b -- /no/such/command
untouched() {
	echo input | "$pagek" run -b -o "$tmp/page" -- \
	    sh -c 'cat; echo error >&2' >"$tmp/stdout" 2>"$tmp/stderr"
	[ $? = 0 ] && [ "$(cat "$tmp/stdout")" = input ] &&
	    [ "$(cat "$tmp/stderr")" = error ] &&
	    grep -q "K MEMORY BLOCKS .*ENDED" "$tmp/page" &&
	    grep -q "^pagek: sh\[.*allocs" "$tmp/page"
}
rule "off a terminal the command's descriptors are its own" untouched
page_on_stderr() {
	"$pagek" run -- sh -c 'echo mine' >"$tmp/stdout" 2>"$tmp/stderr" \
	    </dev/null
	[ $? = 0 ] && [ "$(cat "$tmp/stdout")" = mine ] &&
	    grep -q "K MEMORY BLOCKS" "$tmp/stderr" && plain "$tmp/stderr"
}
rule "without -o the page goes to stderr" page_on_stderr
script_around() {
	"$pagek" run -b --interval 0.2 -o "$tmp/page" -- \
	    sh -c 'perl -e "my @x = map { q(x) x 100 } 1..2000; sleep 3"; true'
	[ "$(grep "K MEMORY BLOCKS" "$tmp/page" | tail -n 1 |
	    grep -c 'perl\[')" = 1 ]
}
rule "the page goes to the largest of a young tree and stays there" \
    script_around

# --- what was lost on the way
mended() {
	"$pagek" -b --sort size --count 40 --interval 0.1 demo:flood \
	    >"$tmp/out" || return 1
	grep -q "list read again" "$tmp/out"
}
rule "an overrun of the retained queue is counted and mended" mended
leaves_it() {
	"$pagek" -b --count 40 --interval 0.1 demo:flood >"$tmp/out" &&
	    grep -q "K MEMORY BLOCKS .*LIVE  WINDOW" "$tmp/out" &&
	    ! grep -q "list read again" "$tmp/out"
}
rule "-b reads no more of a fast stream than it prints" leaves_it
whole_at_last() {
	watched "$B/tests/targets/torrent"
	until_true 10 is_watched torrent &&
	    kill -USR1 "$(live_pid torrent)" &&
	    until_true 20 grep -q "K MEMORY BLOCKS .*LIVE  WINDOW" "$tmp/page"
	status=$?
	kill -TERM $page
	wait $page
	[ $status = 0 ] && grep "K MEMORY BLOCKS" "$tmp/page" | tail -n 1 |
	    grep "ENDED" | grep -qvE "WINDOW|LOADING"
}
rule "nor does run -b, whose last picture is of the whole list" whole_at_last

# The node cannot follow, and nothing waits for it.
loses() {
	env --default-signal=INT,TERM "$pagek" run -b --no-wait --interval 0.1 \
	    -o "$tmp/page" -- "$B/tests/targets/torrent" 2>"$tmp/stderr" &
	page=$!
	until_true 10 is_watched torrent || return 1
	target=$(live_pid torrent)
	kill -USR1 "$target"
	until_true 30 grep -q "K MEMORY BLOCKS .*INCOMPLETE" "$tmp/page" || return 1
	kill -USR1 "$target"
}
rule "a program that nothing waits for loses records" loses
lost_of() {
	"$pagek" list "$@" "pid:$target" >"$tmp/out" 2>"$tmp/err" || return 1
	cat "$tmp/err"
	[ "$(wc -l <"$tmp/err")" = 1 ] && [ "$(wc -l <"$tmp/out")" -gt 1000 ] &&
	    grep -q '^pagek: lost: [1-9].*INCOMPLETE since' "$tmp/err"
}
rule "list says of its rows that they are not all, and since when" lost_of
rule "so it does of CSV" lost_of --format csv
lost_target() {
	"$pagek" targets | grep "^pid:$target .*INCOMPLETE: [1-9][0-9,]* lost"
}
rule "targets marks who has lost records" lost_target
quietly() {
	"$pagek" list -q "pid:$target" >/dev/null 2>"$tmp/err" &&
	    [ ! -s "$tmp/err" ] &&
	    "$pagek" list -q --strict "pid:$target" >/dev/null 2>"$tmp/err"
	[ $? = 6 ] && [ "$(wc -l <"$tmp/err")" = 1 ]
}
rule "with --strict it is the status, and said once" quietly
kill -TERM $page
wait $page

short_lived() {
	"$B/pagek" run -b -- ls / 2>"$tmp/err" >/dev/null &&
	    grep -q ' malloc .*[a-z_][a-z_]*$' "$tmp/err" &&
	    ! grep -q '  0x[0-9a-f]*$' "$tmp/err"
}
rule "callers of a program that is over at once have their names" short_lived

# --- targets by the name of their command ---------------------------------------

for name in server a_server_of_long_name 590 node; do
	cp "$B/tests/targets/hold" "$tmp/$name" || exit 1
done
# serve NAME BLOCKS: $served is its process, which is watched and holds them all.
serve() {
	"$pagek" run --own-node -b -o /dev/null -- "$tmp/$1" "$2" 2>/dev/null &
	until_true 10 pgrep -f "^$tmp/$1 $2\$" >/dev/null &&
	    served=$(pgrep -f "^$tmp/$1 $2\$") && until_true 10 holds "$2" "pid:$served"
}
# holds BLOCKS TARGET
holds() {
	[ "$("$pagek" list --format ndjson --filter size=7777 "$2" | grep -c '"size": 7777')" = "$1" ]
}
newest() {
	serve server 3 && older=$served && holds 3 server && serve server 5 &&
	    holds 5 server && kill "$served" &&
	    until_true 10 is_gone "$served" && until_true 10 holds 3 server &&
	    kill "$older"
}
rule "a word is the newest live target whose command has that name" newest
long_name() {
	serve a_server_of_long_name 4 && holds 4 a_server_of_long_name &&
	    kill "$served"
}
rule "also if the name is longer than the kernel keeps" long_name
before_number() {
	serve 590 6 && holds 6 590 && mkdir -p "$XDG_CONFIG_HOME/pagek" &&
	    echo "0590 linac-a unix:$tmp/none" >"$XDG_CONFIG_HOME/pagek/nodes" &&
	    ! "$pagek" list 590 2>"$tmp/e" && grep -q 'No such file' "$tmp/e"
	it=$?
	rm -f "$XDG_CONFIG_HOME/pagek/nodes"
	kill "$served"
	return $it
}
rule "up to four hex digits are a node if the table has them" before_number
near_command() {
	serve node 8 && holds 8 node &&
	    "$pagek" --once node | grep -q "node\[$served\]"
	it=$?
	kill "$served"
	return $it
}
rule "a target whose name is nearly a command's is found" near_command
# One process is two programs, one after the other.
replaced() {
	"$pagek" run --own-node -b -o /dev/null -- \
	    bash -c "exec $tmp/server 9" 2>/dev/null &
	until_true 10 pgrep -f "^$tmp/server 9\$" >/dev/null &&
	    served=$(pgrep -f "^$tmp/server 9\$") &&
	    until_true 10 holds 9 server && ! "$pagek" disarm bash 2>"$tmp/e" &&
	    grep -q "no target or node 'bash'" "$tmp/e" && holds 9 server
	it=$?
	kill "$served"
	return $it
}
rule "the name of a program that exec has replaced is no target's" replaced
check_default() {
	serve server 7 && "$pagek" check --max-live 1G --duration 1 2>"$tmp/e"
	it=$?
	kill "$served"
	cat "$tmp/e"
	return $it
}
rule "pagek check without TARGET checks the default target" check_default
say_result
