#!/bin/sh
# The five first sessions of pagek(7), on real programs and with exactly the
# commands and keys that stand there: redis, nginx, a test, a node behind ssh,
# and a saved list.  Needs tmux, redis, ssh and sshd, and for one of them nginx.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_terminal.sh"
. "$(dirname "$0")/lib_ssh.sh"

PATH=$B:$PATH
preload=$B/liballoclog.so
cd "$tmp" || exit 1

redis=$(command -v redis-server || command -v redis-check-rdb)
[ -n "$redis" ] || { echo "no redis"; exit 1; }
# Not here: a word that names a file is no target.
mkdir "$tmp/bin"
ln -s "$redis" "$tmp/bin/redis-server"
LD_PRELOAD=$preload "$tmp/bin/redis-server" --port 0 --unixsocket "$tmp/redis.sock" \
    --save '' --dir "$tmp" >"$tmp/redis.log" 2>&1 &
helpers=$!
until_true 20 redis-cli -s "$tmp/redis.sock" ping || exit 1
watched_as() {
	pagek list "$1" >/dev/null
}
until_true 20 watched_as redis-server || exit 1

# documented COMMAND: it stands in pagek(7) as it is used here.
documented() {
	grep -qxF -e ".Dl \$ $1" "$top/man/pagek.7" || {
		echo "not in pagek(7): $1"
		return 1
	}
}
# session COMMAND: one line of a shell.
session() {
	documented "$1" && sh -c "$1"
}

most_of() {
	python3 - "$1" <<'P'
import collections, json, sys
c = collections.Counter()
for b in json.load(open(sys.argv[1]))["blocks"]:
    c[b["function"]] += b["size"]
print(c.most_common(1)[0][0])
P
}
holds_most() {
	session 'pagek tree --flat redis-server' >"$tmp/out" &&
	    pagek list --format json -o "$tmp/all.json" redis-server &&
	    most=$(most_of "$tmp/all.json") &&
	    grep '%' "$tmp/out" | grep -v 'branches below' | head -n 1 |
	    grep -F " $most"
}
rule "which function holds most of redis-server: one command" holds_most

# Key scripts of the same on the page: one key.
is_first() {
	shot | sed -n '/^FUNCTION/{n;p;}' | grep -F "$1"
}
page_groups() {
	t kill-session -t p 2>/dev/null
	t new-session -d -s p -x "$1" -y "$2" "PATH=$PATH exec pagek redis-server"
	wait_for 'redis-server\[[0-9]+\]  LIVE' && keys b &&
	    wait_for "^FUNCTION" && until_true 10 is_first "$most" && keys q
}
rule "so it is on the page with the key b: 80x24" page_groups 80 24
rule "and 124x35" page_groups 124 35

limits() {
	printf '#!/bin/sh\nexec python3 -c "x = bytearray(1 << 20)"\n' >"$tmp/test"
	chmod +x "$tmp/test"
	session 'pagek check --max-live 50M -- ./test' </dev/null || return 1
	printf '#!/bin/sh\nexec python3 -c "x = bytearray(60 << 20)"\n' >"$tmp/test"
	session 'pagek check --max-live 50M -- ./test' >"$tmp/out" 2>&1
	[ $? = 7 ] && grep -i 'max-live' "$tmp/out"
}
rule "limit a test to 50 MB in CI: one command" limits

if command -v nginx >/dev/null; then
	cat >"$tmp/nginx.conf" <<C
worker_processes 1; pid $tmp/nginx.pid; error_log $tmp/nginx.log;
events { worker_connections 64; }
http { access_log off; client_body_temp_path $tmp/t1; proxy_temp_path $tmp/t2;
fastcgi_temp_path $tmp/t3; uwsgi_temp_path $tmp/t4; scgi_temp_path $tmp/t5;
server { listen unix:$tmp/nginx.sock; location / { return 200 "hi"; } } }
C
	LD_PRELOAD=$preload nginx -e "$tmp/nginx.log" -c "$tmp/nginx.conf" -g 'daemon off;' &
	helpers="$helpers $!"
	worker_lives() {
		[ "$(pagek targets | grep -c 'nginx  *LIVE')" = 2 ]
	}
	until_true 20 worker_lives
	worker=$(pgrep -P "$(cat "$tmp/nginx.pid")")
	since_noon() {
		session "pagek tree --flat --filter 'born>12:00' nginx" >"$tmp/out" &&
		    cat "$tmp/out" && head -n 1 "$tmp/out" | grep "nginx\[$worker\]" &&
		    grep 'blocks listed: born>12:00' "$tmp/out" &&
		    grep '% .*ngx_' "$tmp/out" &&
		    pagek list --filter 'born>2099-01-01' nginx >"$tmp/none" &&
		    [ "$(wc -l <"$tmp/none")" = 1 ]
	}
	rule "what has this nginx worker allocated since noon: one command" since_noon

	later_than() {
		[ "$(date +%Y-%m-%dT%H:%M:%S)" != "$1" ]
	}
	asks_since() {
		then=$(date +%Y-%m-%dT%H:%M:%S)
		until_true 3 later_than "$then"
		moment=$(date +%Y-%m-%dT%H:%M:%S)
		pagek list --format json --filter "born>=$moment" nginx >"$tmp/since.json" &&
		    pagek list --format json nginx >"$tmp/all.json" &&
		    python3 - "$tmp" "$(date -u +%Y-%m-%dT%H:%M:%S -d "$moment")" <<'P'
import json, sys
since = {b["seq"] for b in json.load(open(sys.argv[1] + "/since.json"))["blocks"]}
old = {b["seq"] for b in json.load(open(sys.argv[1] + "/all.json"))["blocks"]
       if b["time"] < sys.argv[2]}
assert old and not since & old, (len(since), len(old))
P
	}
	rule "the filter has no block of an earlier time" asks_since

	# Two keys and what is typed.
	page_since() {
		t kill-session -t p 2>/dev/null
		t new-session -d -s p -x "$1" -y "$2" "PATH=$PATH exec pagek nginx"
		wait_for "nginx\[$worker\]  LIVE" && keys f 'born>12:00' Enter &&
		    wait_for 'born>12:00' && keys b && wait_for 'ngx_' && keys q
	}
	rule "so it is on the page with f and b: 80x24" page_since 80 24
	rule "and 124x35" page_since 124 35
else
	skip "what an nginx worker has allocated since noon: there is no nginx"
fi

other_machine() {
	documented 'pagek ssh:linac-b' || return 1
	printf 'Host linac-b\n\tIdentityFile %s\n' "$s/page" >"$tmp/config.b" &&
	    cat "$s/config" >>"$tmp/config.b" && cp "$tmp/config.b" "$s/config" &&
	    go ssh:linac-b && wait_for '(torrent|nginx|redis-server)\[[0-9]+\]  LIVE' &&
	    keys T && wait_for ' torrent ' && keys Escape q && wait_for '^status 0'
}
rule "look at the node on the other machine: one command" other_machine

tomorrow() {
	session 'pagek list --format json -o monday.json redis-server' &&
	    redis-cli -s "$tmp/redis.sock" eval \
	    'for i=1,500 do redis.call("set", "key"..i, string.rep("x", 2000)) end' 0 &&
	    until_true 10 has_keys &&
	    session 'pagek diff monday.json redis-server' >"$tmp/out" && cat "$tmp/out" &&
	    head -n 1 "$tmp/out" | grep '^DIFF  monday.json 20.* -> redis-server 20' &&
	    sed -n 4p "$tmp/out" | grep '^ *+[0-9.]* KiB\|^ *+[0-9.]* MiB' &&
	    pagek list --format csv -o tuesday.csv redis-server &&
	    pagek diff --format json monday.json tuesday.csv | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "pagek.saved_diff/1" and d["same_blocks"] > 1000
assert d["functions"][0]["net_bytes"] >= 500 * 2000
assert d["new"]["bytes"] - d["old"]["bytes"] == sum(f["net_bytes"] for f in d["functions"])
'
}
has_keys() {
	[ "$(redis-cli -s "$tmp/redis.sock" dbsize)" -ge 500 ]
}
rule "save the list and compare it with tomorrow's: one command each day" tomorrow

by_mark() {
	pagek mark monday redis-server &&
	    redis-cli -s "$tmp/redis.sock" eval \
	    'for i=1,300 do redis.call("set", "more"..i, string.rep("y", 2000)) end' 0 &&
	    pagek --once --page=H --mark monday redis-server >"$tmp/out" &&
	    cat "$tmp/out" && grep 'mark monday ' "$tmp/out" &&
	    sed -n '/^FUNCTION/{n;p;}' "$tmp/out" | grep '+[0-9.]* [KM]iB'
}
rule "or by a mark that the node keeps" by_mark

anew() {
	kill ${helpers%% *}
	until_true 10 gone_redis
	LD_PRELOAD=$preload "$tmp/bin/redis-server" --port 0 --unixsocket "$tmp/again.sock" \
	    --save '' --dir "$tmp" >/dev/null 2>&1 &
	helpers="$helpers $!"
	until_true 20 redis-cli -s "$tmp/again.sock" ping && until_true 20 watched_as "pid:$!" &&
	    pagek diff monday.json "pid:$!" >"$tmp/out" 2>"$tmp/err" && cat "$tmp/out" &&
	    grep 'no block is in both lists' "$tmp/err"
}
gone_redis() {
	! redis-cli -s "$tmp/redis.sock" ping
}
rule "a program that was started anew is compared by its sums, and that is said" anew

# The first server was killed above.
ended() {
	pid=${helpers%% *}
	pagek diff monday.json "pid:$pid" >"$tmp/out" && cat "$tmp/out" &&
	    head -n 1 "$tmp/out" | grep " -> pid:$pid 20.* ENDED" &&
	    pagek list --format json -o friday.json "pid:$pid" &&
	    pagek diff monday.json friday.json | head -n 1 | grep ' -> friday.json 20.* ENDED' &&
	    pagek diff friday.json monday.json | head -n 1 | grep 'friday.json 20.* ENDED -> monday.json [^E]*$' ||
	    return 1
	for words in "diff --format json monday.json" "diff --interval 0.1 pid:$pid" \
	    dump stats list "export --folded" "check --max-live 1G"; do
		# shellcheck disable=SC2086
		pagek $words "pid:$pid" 2>"$tmp/err" >/dev/null &&
		    grep "has ended: these are its last blocks" "$tmp/err" || return 1
	done
}
rule "a target that has ended is said by each form of diff, and wherever the output lacks it" ended

# As every other date of text: of TZ, or with --utc.
zones() {
	when=$(python3 -c 'import json; print(json.load(open("monday.json"))["time"])') &&
	    there=$(TZ=EET-2 date +'%Y-%m-%d %H:%M:%S' -d "$when") &&
	    utc=$(date -u +'%Y-%m-%d %H:%M:%S' -d "$when") &&
	    TZ=EET-2 pagek diff monday.json monday.json >"$tmp/out" && cat "$tmp/out" &&
	    [ "$(head -n 1 "$tmp/out")" = "DIFF  monday.json $there -> monday.json $there" ] &&
	    TZ=EET-2 pagek diff --utc monday.json monday.json >"$tmp/out" && cat "$tmp/out" &&
	    [ "$(head -n 1 "$tmp/out")" = "DIFF  monday.json $utc -> monday.json $utc" ]
}
rule "its dates are of the user's zone" zones

# Files that are no lists, a FIFO that nobody writes to among them.
odd_files() {
	mkdir -p folder && rm -f fifo && mkfifo fifo && : >empty && echo '[]' >list &&
	    echo 'size,address' >heading && cp monday.json secret && chmod 0 secret || return 1
	for file in ./folder ./fifo /dev/null empty list heading; do
		for words in "$file pid:1" "monday.json $file"; do
			# shellcheck disable=SC2086
			timeout 10 pagek diff $words 2>"$tmp/err" >/dev/null </dev/null
			case $? in 1 | 5) ;; *) return 1 ;; esac
			cat "$tmp/err"
			[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "$file" "$tmp/err" || return 1
		done
	done
	[ "$(id -u)" = 0 ] || ! pagek diff secret pid:1 2>"$tmp/err" &&
	    { [ "$(id -u)" = 0 ] || grep "cannot read 'secret': Permission denied" "$tmp/err"; }
}
rule "a message says what a file is that is not a list" odd_files

refused() {
	echo '{"schema": "pagek.tree/1"}' >"$tmp/tree.json"
	pagek diff tree.json 2>"$tmp/err"
	[ $? = 5 ] && grep '^pagek: tree.json: it is not a list of blocks' "$tmp/err" || return 1
	head -c 5000 monday.json >cut.json
	pagek diff cut.json 2>"$tmp/err"
	[ $? = 5 ] && grep '^pagek: cut.json: its JSON is damaged' "$tmp/err" || return 1
	pagek diff --sort size monday.json 2>"$tmp/err"
	[ $? = 2 ] && grep 'is for debug data, not for saved lists' "$tmp/err" || return 1
	pagek diff monday.json tuesday.csv redis-server 2>"$tmp/err"
	[ $? = 2 ] && grep 'one other list or one target' "$tmp/err" || return 1
	pagek diff monday.json none.json 2>"$tmp/err"
	[ $? = 3 ] && cat "$tmp/err" && grep "no such file, and no target or node 'none.json'" "$tmp/err" || return 1
	cp /bin/true redis-server
	pagek diff monday.json redis-server 2>"$tmp/err"
	[ $? = 5 ] && grep 'a target of that name can be given as pid:N' "$tmp/err"
}
rule "what is no saved list is refused with a sentence" refused

# Blocks that a list lacks would look as if they had come since.
partial() {
	pagek list --limit 2 --format json -o some.json demo:note &&
	    pagek list --format ndjson -o all.nd demo:note &&
	    pagek list --filter 'size>60' --format json -o large.json demo:note &&
	    head -n 4 all.nd >cut.nd || return 1
	for file in some.json cut.nd; do
		pagek diff "$file" all.nd >"$tmp/out" 2>"$tmp/err" &&
		    grep 'has [0-9] of 6 blocks: those that it lacks count as missing' "$tmp/err" &&
		    grep -q INCOMPLETE "$tmp/out" || return 1
	done
	pagek diff large.json all.nd 2>"$tmp/err" | grep INCOMPLETE &&
	    grep 'has blocks of the filter size>60' "$tmp/err" || return 1
	pagek diff large.json large.json 2>"$tmp/err" >"$tmp/out" &&
	    ! [ -s "$tmp/err" ] && ! grep INCOMPLETE "$tmp/out"
}
rule "a list that lacks blocks, and which, is said and makes the difference incomplete" partial

say_result
