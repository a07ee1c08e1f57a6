#!/bin/sh
# The page of a command: a tree of processes that end one after the other, the
# command's output and status, and commands that cannot be run or watched.
# Needs tmux.  Screens are compared with tests/golden/run-page-*.ok.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

here=$tmp/here
mkdir "$here"
for name in small large; do
	cp "$B/tests/targets/hold" "$here/$name" || exit 1
done
# A name of this length makes each message wrap at one place, for any process id.
cc -static -O1 -fno-builtin -o "$here/immobile" "$top/tests/targets/hold.c" || exit 1

# begin WIDTH HEIGHT COMMAND...: its page; the shell prints the status behind it.
begin() {
	width=$1 height=$2
	shift 2
	rm -f "$here"/end.*
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$width" -y "$height" -c "$here" \
	    "$B/pagek run $*; echo status \$?; exec cat"
}

# --- a tree of processes ------------------------------------------------------

tree="sh -c './small 9 end.small 3; ./large 30 end.large 4; exit 5'"
moves_on() {
	begin 100 30 -- "$tree"
	wait_for 'small\[[0-9]+\]  LIVE' && wait_for '     9 blocks|9 blocks' &&
	    touch "$here/end.small" &&
	    wait_for 'small\[[0-9]+\] has ended, [a-z]+\[[0-9]+\] is watched' &&
	    wait_for 'large\[[0-9]+\]  LIVE' && wait_for '30 blocks'
}
rule "where a target ends and no key was pressed, the page shows the largest live one" \
    moves_on
at_end() {
	touch "$here/end.large"
	wait_for 'ENDED' && wait_for 'all its processes have ended'
}
rule "at the end of the tree the last one stays" at_end
status_is() {
	keys q
	wait_for "^status $1\$"
}
rule "q leaves with the command's status" status_is 5

# The largest of several that live, not the first.
three="sh -c './small 9 end.small 0 & ./large 30 end.large 0 & ./small 12 end.third 0 & wait'"
largest() {
	begin 100 30 -- "$three"
	wait_for 'large\[[0-9]+\]  LIVE' && wait_for '30 blocks' &&
	    touch "$here/end.large" &&
	    wait_for 'small\[[0-9]+\]  LIVE' && wait_for '12 blocks' &&
	    touch "$here/end.third" && wait_for ' 9 blocks'
}
rule "of several processes the one that holds most is shown, then the next" largest

names_live() {
	begin 100 30 -- "$tree"
	wait_for 'small\[[0-9]+\]  LIVE' && keys j && wait_for 'OFFS' &&
	    touch "$here/end.small" && wait_for 'small\[[0-9]+\]  ENDED' &&
	    until_true 10 pgrep -f 'large 30 end.large' || return 1
	# It stays there.
	wait_for '2 targets of the node still live' &&
	    keys q && wait_for '^status ' && shot &&
	    shows "large goes on and is watched; come back with: .*pid:$(pgrep -f '^./large 30 end.large')"
	it=$?
	touch "$here/end.large"
	return $it
}
rule "after a key was pressed the page stays, and q names a live process" \
    names_live

completes() {
	begin 100 30 -- "$three"
	wait_for 'large\[[0-9]+\]  LIVE' && keys : &&
	    keys -l 'target sm' && keys Tab && wait_for ':target small' &&
	    keys Escape && touch "$here/end.small" "$here/end.large" \
	    "$here/end.third"
}
rule ":target completes the commands of the tree, with the first Tab" completes

# --- its output and its status -------------------------------------------------

writes="sh -c 'seq 1 30; printf \"a\\\\033[2Jb\\n\"; ./small 9 end.small 3'"
output() {
	begin 100 30 -- "$writes"
	wait_for 'small\[[0-9]+\]  LIVE' && touch "$here/end.small" &&
	    wait_for 'all its processes have ended' && keys q &&
	    wait_for '^status 3$' && shot | grep . && shows '^22$' &&
	    shows '^a\\x1B\[2Jb$' && hides '^21$' &&
	    file=$(shot | sed -n "s/^pagek: the command's output: //p") &&
	    head -1 "$file" | grep -qx 1
}
rule "q prints the last lines of the output, without control characters, and its file" output
ended_by_us() {
	begin 100 30 -- "sh -c 'echo hello; exec ./small 9 end.small 3'"
	wait_for 'small\[[0-9]+\]  LIVE' && keys F9 && wait_for 'y/n' &&
	    keys y && wait_for '^status 143$' && shows '^hello$' &&
	    shows "^pagek: the command's output: "
}
rule "after F9 the output and the status are the command's, as after q" ended_by_us

shown() {
	begin 100 30 -- "$writes"
	wait_for "o shows the command's output, .*/out\.[0-9]+" &&
	    wait_for 'small\[[0-9]+\]  LIVE' && touch "$here/end.small" &&
	    wait_for 'shows its output' && keys o && wait_for '^1$' &&
	    hides 'MEMORY BLOCKS' && keys q && wait_for 'MEMORY BLOCKS' &&
	    keys q && wait_for '^status 3$'
}
rule "the page names the file, and o shows it in a pager" shown

# A pager's prompt is its own; so many lines fill either screen.
t set-environment -g LESS -Ppager
t set-environment -gr LESSOPEN
t set-environment -gr PAGER
many="sh -c 'seq 1 60; printf \"a\\\\033[2Jb\\n\"; ./small 9 end.small 3'"
# output_at WIDTH HEIGHT
output_at() {
	begin "$1" "$2" -- "$many"
	wait_for 'small\[[0-9]+\]  LIVE' && touch "$here/end.small" &&
	    wait_for 'shows its output' && keys o && wait_for '^pager' &&
	    screen_is "run-output-pager-$1" && keys G && wait_for 'aESC' &&
	    keys q && wait_for 'MEMORY BLOCKS' && keys q &&
	    wait_for '^status 3$' && unwrapped screen_is "run-output-printed-$1"
}
rule "the output in the pager, and as q prints it, at 80x24" output_at 80 24
rule "and at 124x35" output_at 124 35

by_signal() {
	begin 100 30 -- ./small 9 end.small s15
	wait_for 'small\[[0-9]+\]  LIVE' && touch "$here/end.small" &&
	    wait_for 'signal 15' && keys q && wait_for '^status 143$'
}
rule "if a signal ended the command, the status is 128 plus its number" by_signal

seccomp() {
	begin 100 30 -- ./small 9 end.small s31
	wait_for 'small\[[0-9]+\]  LIVE' && touch "$here/end.small" &&
	    wait_for 'SIGSYS.*seccomp' && shot | tr '\n' ' ' |
	    grep -q 'alloclog(3)'
}
rule "for a target that SIGSYS ended, the page names seccomp and its manual" seccomp
seccomp_moved() {
	begin 100 30 -- "sh -c './large 3 end.large 0 & exec ./small 9 end.small s31'"
	wait_for 'small\[[0-9]+\]  LIVE' && touch "$here/end.small" &&
	    wait_for 'large\[[0-9]+\]  LIVE' && wait_for 'SIGSYS' &&
	    shot | tr '\n' ' ' | grep -q 'small.*has ended, large.* is watched.*alloclog(3)' &&
	    keys T && wait_for 'small.*SIGSYS' && touch "$here/end.large"
}
rule "so does a page that has moved on to another process, and its list of targets" seccomp_moved
# The shell's own process, so that its end is known.
seccomp_text() {
	"$B/pagek" run -b -o "$tmp/text" -- sh -c 'kill -SYS $$'
	[ $? = 159 ] && grep -q '^pagek: sh\[[0-9]*\] was ended by SIGSYS: .*alloclog(3)$' "$tmp/text" &&
	    "$B/pagek" check --max-live=1M -o "$tmp/text" -- sh -c 'kill -SYS $$'
	grep '^pagek check: sh\[[0-9]*\] was ended by SIGSYS: .*alloclog(3)$' "$tmp/text"
}
rule "run -b and check say the same as text" seccomp_text

# --- what cannot be run or watched ----------------------------------------------

# no_page STATUS REGEX COMMAND
no_page() {
	status=$1 says=$2
	shift 2
	begin 100 30 -- "$@"
	wait_for "^status $status\$" && t capture-pane -pJ -t p | grep . &&
	    t capture-pane -pJ -t p | grep -q "$says" &&
	    [ "$(t display -p -t p '#{alternate_on}')" = 0 ] &&
	    hides 'K MEMORY'
}
printf 'echo given to a shell >ran\n' >"$here/bare"
printf '#!/no/such/interpreter\n' >"$here/lacks"
printf '\177ELFxxxx' >"$here/broken"
chmod +x "$here/bare" "$here/lacks" "$here/broken"
rule "a command that is not there ends pagek run with 127, without a page" \
    no_page 127 "^pagek: cannot run './none': No such file" ./none
rule "likewise a command that PATH does not have" \
    no_page 127 "^pagek: cannot run 'no-such-name': No such file" no-such-name
rule "a folder ends it with 126" no_page 126 "^pagek: cannot run '/': Permission denied" /
rule "a file that the kernel refuses ends it with 126" \
    no_page 126 "Exec format error.*first line such as #!/bin/sh" ./bare
rule "such a file is not given to a shell" test ! -e "$here/ran"
by_path() {
	env PATH="$here:$PATH" "$B/pagek" run -b -o /dev/null -- bare
	[ $? = 126 ] && [ ! -e ran ] && [ ! -e "$here/ran" ]
}
rule "nor if PATH finds it" by_path
rule "a file that only looks like a program ends it with 126" no_page 126 "Exec format error" ./broken
rule "the message says if the interpreter of a script is missing" \
    no_page 127 "interpreter or loader that it names does not" ./lacks

# static WIDTH HEIGHT
static() {
	begin "$1" "$2" -- ./immobile 9 end.immobile 3
	wait_for 'NO DATA' && wait_for 'immobile\[[0-9]+\] is not watched' &&
	    wait_gone 'o shows the' && screen_is "run-page-static-$1" && touch "$here/end.immobile" &&
	    wait_for 'has ended; immobile' && screen_is "run-page-static-ended-$1" &&
	    keys q && wait_for '^status 3$'
}
rule "the page says why a static program is not watched, also at its end, at 80x24" \
    static 80 24
rule "and at 124x35" static 124 35
# Too short for a look at its process: the program's file says why.
cp "$B/tests/targets/hold" "$here/raised" && chown nobody "$here/raised" 2>"$tmp/none" &&
    chmod u+s "$here/raised"
ln "$here/immobile" "$here/fixed"
printf '#!%s\n' "$here/fixed" >"$here/by_fixed" && chmod +x "$here/by_fixed"
# short PROGRAM REASON ARGUMENTS: as text, in check, and on the page.
short() {
	program=$1 why=$2
	shift 2
	"$B/pagek" run -b -o "$tmp/text" -- "$here/$program" "$@"
	[ $? = 4 ] && grep -q "^pagek: $program\[[0-9]*\] .*: NO DATA: $why" "$tmp/text" &&
	    grep -q "$program.* was not watched: ${why%% *}" "$tmp/text" || return 1
	"$B/pagek" check --max-live=1M -o "$tmp/text" -- "$here/$program" "$@"
	grep "not known: nothing was watched: $why" "$tmp/text" || return 1
	begin 100 30 -- "./$program" "$@"
	wait_for "was not watched: $why" && keys q && wait_for '^status 4$'
}
rule "a static program that ends at once has its reason" short fixed 'a statically linked' 0 / 4
rule "so has a script of one" short by_fixed 'a statically linked' / 4
if [ -u "$here/raised" ]; then
	rule "and a set-user-ID program" short raised 'set-user-ID program' 0 / 4
else
	skip "a set-user-ID program of another user: only root can make one"
fi

# ended WIDTH HEIGHT: screens of the rules above.
ended() {
	begin "$1" "$2" -- "$tree"
	wait_for 'small\[[0-9]+\]  LIVE' && touch "$here/end.small" &&
	    wait_for 'large\[[0-9]+\]  LIVE' && wait_for '30 blocks' &&
	    touch "$here/end.large" &&
	    wait_for 'all its processes have ended' || return 1
	# A notice of some seconds, and at 80 columns the rate.
	wait_gone 'is watched *$|o shows the|[1-9][0-9.k]* /s' && wait_for ' main' &&
	    screen_is "run-page-ended-$1"
	it=$?
	keys q
	return $it
}
rule "the screen at the end of a tree, at 80x24" ended 80 24
rule "and at 124x35" ended 124 35
say_result
