#!/bin/sh
# Groups of two levels over a program that says how much it holds: in text, and
# on the page, opened down to the blocks.  Needs tmux.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
pagek=$B/pagek
stop() {
	[ -s "$tmp/pid" ] && kill "$(cat "$tmp/pid")"
	end_terminal
} >/dev/null 2>&1
trap stop EXIT

# Two threads: "few" holds 3 blocks of malloc and 4 of calloc, "many" 50 and 60.
cat >"$tmp/two.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile held[200];
static pthread_barrier_t done;
struct work { const char *name; int at, mallocs, callocs; };
static void *work(void *arg)
{
	struct work *w = arg;
	pthread_setname_np(pthread_self(), w->name);
	for (int i = 0; i < w->mallocs; i++)
		held[w->at++] = malloc(10000);
	for (int i = 0; i < w->callocs; i++)
		held[w->at++] = calloc(1, 20000);
	pthread_barrier_wait(&done);
	for (;;)
		pause();
	return NULL;
}
int main(int argc, char **argv)
{
	struct work few = { "few", 0, 3, 4 }, many = { "many", 50, 50, 60 };
	pthread_t t;
	FILE *f;
	pthread_barrier_init(&done, NULL, 3);
	pthread_create(&t, NULL, work, &few);
	pthread_create(&t, NULL, work, &many);
	pthread_barrier_wait(&done);
	f = fopen(argv[1], "w");
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	for (;;)
		pause();
	return argc;
}
C
cc -O1 -fno-builtin -pthread -o "$tmp/two" "$tmp/two.c" || exit 1
t new-session -d -s p -x 124 -y 40 "exec '$pagek' run --stack 8 -- '$tmp/two' '$tmp/pid'"
t resize-window -t p -x 124 -y 40
until_true 30 test -s "$tmp/pid" || { shot; exit 1; }

# Group, count and bytes of both levels, one a line.
text() {
	COLUMNS=124 "$pagek" --once --ascii "pid:$(cat "$tmp/pid")" --wide \
	    --group "$1" >"$tmp/text" &&
	    grep '^ *[-+] ' "$tmp/text" | awk '{
		in_it = $1 == "-" ? "" : "in "
		for (i = 3; i < NF && $i !~ /%$/; i++)
			continue
		print in_it $2, $(i - 2), $(i - 1) }' >"$tmp/groups"
}
has() {
	for line in "$@"; do
		grep -qxF -- "$line" "$tmp/groups" || {
			echo "no line: $line"
			cat "$tmp/text"
			return 1
		}
	done
}
threads() {
	text 'thread>type' &&
	    has 'many 110 1,700,000' 'in malloc 50 500,000' \
		'in calloc 60 1,200,000' 'few 7 110,000' \
		'in malloc 3 30,000' 'in calloc 4 80,000'
}
rule "as text, each thread has the blocks that it asked for, by type" threads

# The C library has blocks of its own, in the main thread.
types() {
	text 'type>thread' &&
	    has 'in many 50 500,000' 'in many 60 1,200,000' \
		'in few 3 30,000' 'in few 4 80,000'
}
rule "the other way round the same sums stand in the other order" types

functions() {
	text 'function>type' &&
	    has 'work 117 1,810,000' 'in calloc 64 1,280,000' \
		'in malloc 53 530,000'
}
rule "both of a function's types are in it" functions

opens() {
	wait_for 'two\[[0-9]*\]' && keys ':group thread>type' Enter &&
	    wait_for '^\+ many .* 110  *1,700,000' && keys g Right &&
	    wait_for '^  \+ calloc .* 60  *1,200,000' && keys j Right &&
	    wait_for '^ {6}[0-9a-f]{12} = 20,000 .* many '
}
rule "Right opens a thread to its types, and a type to its blocks" opens

# The cursor is on the group that is closed: what was in it is gone.
closes() {
	keys j Left && wait_for '^  \+ calloc .* 60 ' && keys Left Left &&
	    wait_for '^\+ many .* 110 ' && ! shot | grep -q '^  [-+] '
}
rule "Left closes them again, from the inside out" closes

alone() {
	keys g Right && wait_for '^  \+ calloc ' && keys j Enter &&
	    wait_for '60 of [0-9,]* blocks' && keys Escape &&
	    wait_for '^  \+ calloc .* 60 '
}
rule "Enter lists what a group of the second level has, and Esc comes back" alone

sorts() {
	keys ':sort count' Enter && wait_for 'COUNT v' && keys r &&
	    wait_for 'COUNT \^'
}
rule "groups are sorted by the column that is named" sorts
keys q

# --- a C++ program ----------------------------------------------------------------

# Containers of each kind, filled by functions of its own.
cat >"$tmp/shop.cc" <<'CC'
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include <unistd.h>
#define OWN __attribute__((noinline))
struct catalog {
	std::map<int, std::string> titles;
	std::unordered_map<int, int> stock;
	OWN void add_titles()
	{
		for (int i = 0; i < 100; i++)
			titles[i] = std::string(100, 'x');
	}
	OWN void count_stock()
	{
		for (int i = 0; i < 100; i++)
			stock[i] = i;
	}
};
static OWN void
fill_orders(std::vector<std::string> &orders)
{
	for (int i = 0; i < 100; i++)
		orders.push_back(std::string(200, 'y'));
}
static OWN std::string
read_text()
{
	std::string s;
	for (int i = 0; i < 5000; i++)
		s += 'z';
	return s;
}
int
main()
{
	catalog c;
	std::vector<std::string> orders;
	c.add_titles();
	c.count_stock();
	fill_orders(orders);
	auto text = std::make_shared<std::string>(read_text());
	for (;;)
		pause();
}
CC
# Without the pool that libstdc++ has for exceptions.
cxx() {
	c++ -O"$3" -g -std=c++17 -o "$tmp/shop" "$tmp/shop.cc" || return 1
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "exec '$pagek' run -- '$tmp/shop'"
	wait_for 'shop\[[0-9]+\]  LIVE' && wait_for '[0-9] blocks' &&
	    keys ':filter type=new' Enter && wait_for '[0-9] of [0-9]+ blocks' &&
	    keys b && wait_for 'catalog::cou' && bar_is_back &&
	    hides ' (std|__gnu_cxx|operator)' &&
	    screen_is "groups-cxx-$1" 's/ +[0-9ms]+ [.:=-]( *[ ▁▂▃▄▅▆▇█]+)?$/ AGE/
	        s/ of [0-9,]+ blocks/ of N blocks/'
	it=$?
	keys Q
	wait_for 'y/n' && keys y
	return $it
}
rule "groups of a C++ program begin with its own functions, at 80x24" cxx 80 24 0
rule "and at 124x35, of one that is optimised" cxx 124 35 2
say_result
