#!/bin/sh
# Keys that htop has too and what each opens, messages that give the key bar back,
# and the mark for what is below the edge of help and panels.  Needs tmux.
# Screens are compared with tests/golden/keys-*.ok.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"

here=$tmp/here
mkdir "$here"
# A few blocks, and one whose calls are more than a screen has lines.
cat >"$here/deep.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *volatile held[9], *volatile deep;
static volatile int calls;
void dig(int n)
{
	if (n == 0)
		deep = malloc(4321);
	else
		dig(n - 1);
	calls++;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 8; i++)
		held[i] = malloc(7777);
	dig(40);
	while (access("end", F_OK) != 0)
		usleep(10000);
	return argc;
}
C
(cd "$here" && cc -g -O0 -fno-builtin -o deep deep.c) || exit 1

begin() {
	rm -f "$here/end"
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" -c "$here" \
	    "'$B/pagek' run --stack 64 -- ./deep; echo status \$?; exec cat"
	wait_for 'deep\[[0-9]+\]  LIVE' && wait_for '^[0-9a-f]{12} .* dig '
}
over() {
	touch "$here/end"
}
# The age of a group, and the last minute beside it.
group_age='s/ +[0-9ms]+ [.:=-]( *[ ▁▂▃▄▅▆▇█]+)?$/ AGE/'
block_age='s/ +[0-9ms]+ ([.:=-])( +[0-9]+  )/ AGE \1\2/'
screen() {
	screen_is "keys-$1" "$block_age; $group_age"
}

# presses KEY REGEX NAME: that is what it opens; Esc closes it.
presses() {
	bar_is_back && keys "$1" && wait_for "$2" && screen "$3" && keys Escape &&
	    wait_gone "$2" || { echo "$1"; return 1; }
}
# opens WIDTH HEIGHT
opens() {
	begin "$@" && presses F1 '^HELP  page K' "help-$1" &&
	    presses F3 '^/ *$' "find-$1" && presses F4 '^filter:' "filter-$1" &&
	    presses F6 '^SORT ' "sort-$1" && presses F9 'y/n$' "end-$1" &&
	    wait_for 'dig ' && hides ENDED
}
# comes_back WIDTH: without a key, and at whatever hour.
comes_back() {
	keys F5 && wait_for '^groups: ' && screen "message-$1" && bar_is_back &&
	    screen "groups-$1" && keys F5 && wait_for '^[0-9a-f]{12} ' &&
	    keys F9 && wait_for 'y/n$' && keys n &&
	    wait_for '^the target goes on' && bar_is_back
}
# below WIDTH: a mark at the edge where more is, in help and in the detail.
below() {
	keys F1 && wait_for ' v$' && hides ' \^$' && keys G &&
	    wait_for ' \^$' && hides ' v$' && screen "help-last-$1" &&
	    keys F1 && wait_gone '^HELP' && keys ':filter size==4321' Enter &&
	    wait_for '1 of ' && bar_is_back && keys g Enter && wait_for '^BLOCK' &&
	    wait_for 'dig .*deep\.c:8' && wait_for '^ *deep = malloc\(4321\);' && wait_for ' v$' && hides ' \^$' &&
	    screen_is "keys-detail-$1" "$detail" && keys G && wait_for ' \^$' &&
	    hides ' v$' && keys Escape && wait_gone '^BLOCK'
}
# Addresses are in lower case, and a date has one form.
detail='s/deep\+0x[0-9a-f]+ +/deep+OFFSET /; s#/[^ ]*/here/#HERE/#; s/[0-9a-f]{12}/ADDRESS/g; s/page [0-9a-f]{9}/page N/; s/byte [0-9,]+/byte N/
    
    s/age +[0-9ms]+, since [0-9]{4}-[0-9]{2}-[0-9]{2} /age AGE, since DAY /; s/[0-9:]{8}\.[0-9]{3}/TIME/'
# leaves WIDTH: pagek ends, the command goes on.
leaves() {
	keys F10 && wait_for '^status' &&
	    unwrapped screen_is "keys-left-$1" 's#/[^ ]*/pagek #pagek #
	        s/pid:[0-9]+/pid:PID/; s#unix:[^ ]*#unix:SOCKET#'
	it=$?
	over
	return $it
}
for size in '80 24' '124 35'; do
	rule "F1, F3, F4, F6 and F9 open what they do in htop, at $size" opens $size
	rule "F5 groups, and messages give the key bar back, at $size" \
	    comes_back ${size% *}
	rule "what is below the edge of help and detail has a mark, at $size" \
	    below ${size% *}
	rule "F10 leaves, at $size" leaves ${size% *}
done
say_result
