#!/bin/sh
# pagek stale on a cache of which some keys are read: redis-server, with
# values of 100 bytes, which share pages, and of 8 KiB, which fill some.  KEYS of each
# are stored (3,000) and READ of them read (30).
# Needs redis-tools and python3.
set -u
. "$(dirname "$0")/lib.sh"
keys=${KEYS:-3000}
read=${READ:-30}
socket=$tmp/redis.sock
cli="redis-cli -s $socket"

ln -s "$(command -v redis-check-rdb)" "$tmp/redis-server"
"$B/pageknode" >"$tmp/node.out" 2>&1 &
node=$!
until_true 20 "$B/pagek" nodes --ask >/dev/null
LD_PRELOAD=$B/liballoclog.so "$tmp/redis-server" --port 0 --unixsocket "$socket" \
    --save '' --enable-debug-command yes --dir "$tmp" >"$tmp/redis.log" 2>&1 &
server=$!
busy=
stop() {
	kill $busy $server $node 2>/dev/null
	wait
	rm -rf "$tmp"
}
trap stop EXIT
until_true 20 $cli ping || exit 1
until_true 20 "$B/pagek" list -o /dev/null "pid:$server" || exit 1

# Stores the keys "v:N" with values of so many bytes, and reads nothing.
cat >"$tmp/redis.py" <<'PY'
import random, socket, struct, sys

def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s, s.makefile("rb")

def send(s, *words):
    s.sendall(b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

def answer(f):
    line = f.readline().rstrip(b"\r\n")
    if line[:1] != b"$":
        return line
    n = int(line[1:])
    return f.read(n + 2)[:-2] if n >= 0 else None

def chosen(keys, read):
    return sorted(random.Random(1).sample(range(keys), read))

path, what, size, keys, read = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
s, f = connect(path)
if what == "store":
    for i in range(keys):
        send(s, b"SET", b"v%d:%d" % (size, i), bytes([65 + i % 26]) * size)
        assert answer(f) == b"+OK"
elif what == "read":
    for i in chosen(keys, read):
        send(s, b"GET", b"v%d:%d" % (size, i))
        assert len(answer(f)) == size
else:
    # The text of a raw string is what its object points to.
    memory = open("/proc/%s/mem" % what, "rb", 0)
    for i in range(keys):
        send(s, b"DEBUG", b"OBJECT", b"v%d:%d" % (size, i))
        at = int(answer(f).split()[1].split(b":")[1], 16)
        memory.seek(at + 8)
        print(i, struct.unpack("<Q", memory.read(8))[0])
PY
redis() {
	python3 "$tmp/redis.py" "$socket" "$@" "$keys" "$read"
}
for size in 100 8192; do
	redis store $size && redis "$server" $size >"$tmp/at.$size" || exit 1
done
# The library looks for the node's wishes when the program allocates, as a busy
# server does all the time.
$cli -r -1 -i 0.002 ping >/dev/null 2>&1 &
busy=$!

# list_for SECONDS: reads each key once while the command counts.  Status 2: too late.
list_for() {
	: >"$tmp/begun"
	"$B/pagek" stale --enable --age 0s --for "$1" --timeout 600 \
	    --format json --fields address,size -o "$tmp/stale.json" "pid:$server" \
	    2>"$tmp/begun" &
	stale=$!
	until_true 600 grep -q '^pagek: counting references to' "$tmp/begun" || {
		cat "$tmp/begun"
		return 1
	}
	# When the command said so: a busy machine notices it later.
	begun=$(stat -c %Y "$tmp/begun")
	redis read 100 && redis read 8192 || return 1
	took=$(($(date +%s) - begun + 1))
	wait $stale && python3 -m json.tool "$tmp/stale.json" >/dev/null || return 1
	[ $took -lt "$1" ] || return 2
}
# A key that is read after the time counts as stale, so a busy machine needs more time.
lists() {
	for seconds in ${FOR:-4} 20 100; do
		list_for "$seconds"
		status=$?
		[ $status = 2 ] || break
	done
	return $status
}
rule "--enable counts the pages of old blocks, and lists some" lists

cat >"$tmp/judge.py" <<'PY'
import bisect, json, random, sys
folder, size, keys, read, rule = sys.argv[1:]
size, keys, read = int(size), int(keys), int(read)
doc = json.load(open(folder + "/stale.json"))
assert doc["schema"] == "pagek.stale/1" and doc["grain"] == 4096
blocks = sorted((int(b["address"], 16), b["size"]) for b in doc["blocks"])
def is_stale(at):
    i = bisect.bisect_right(blocks, (at, 1 << 62)) - 1
    return i >= 0 and blocks[i][0] <= at < blocks[i][0] + blocks[i][1]
at = [int(l.split()[1]) for l in open("%s/at.%d" % (folder, size))]
was_read = set(random.Random(1).sample(range(keys), read))
stale = {i for i in range(keys) if is_stale(at[i])}
unread = keys - read
print("%d bytes: %d of %d unread values are found (%.1f %%)" % (size,
    len(stale - was_read), unread, 100 * len(stale - was_read) / unread))
print({k: v for k, v in doc.items() if isinstance(v, int)})
if rule == "read":
    assert not stale & was_read, sorted(stale & was_read)[:10]
elif rule == "exact":
    # Of 100,000 some are kept, for a page of theirs was referenced.
    assert unread - len(stale - was_read) <= unread // 5000
else:
    assert len(stale - was_read) > 0
PY
judge() {
	python3 "$tmp/judge.py" "$tmp" "$1" "$keys" "$read" "$2"
}
rule "no value of 100 bytes that was read is stale" judge 100 read
rule "no value of 8 KiB that was read is stale" judge 8192 read
rule "each value of 8 KiB that was not read is stale: they fill pages" judge 8192 exact
rule "some values of 100 bytes are, page by page" judge 100 share
judge 100 share >"$tmp/share" && head -n 1 "$tmp/share"

# Nothing is counted after a ^C.
interrupts() {
	: >"$tmp/begun"
	"$B/pagek" stale --enable --age 0s --for 3600 "pid:$server" \
	    >"$tmp/out" 2>"$tmp/begun" &
	stale=$!
	until_true 600 grep -q '^pagek: counting references to' "$tmp/begun" &&
	    kill -TERM $stale
	wait $stale
	[ $? = 1 ] && grep '^pagek: interrupted' "$tmp/begun" &&
	    "$B/pagek" refcnt "pid:$server" 2>&1 | grep 'not counted:'
}
rule "a signal ends the counting with the command" interrupts

begins() {
	"$B/pagek" refcnt --enable --all "pid:$server" >"$tmp/out" 2>&1 || {
		cat "$tmp/out"
		return 1
	}
}
rule "pagek refcnt --enable counts them on" begins

groups() {
	"$B/pagek" stale --age 0s --by function "pid:$server" >"$tmp/groups" &&
	    grep '^grain: a page of 4096 bytes; refs counts epochs' "$tmp/groups" &&
	    grep '^exact: [0-9,]* of [0-9,]* old blocks that fill pages' "$tmp/groups" &&
	    grep '^shared: [0-9,]* of [0-9,]* old blocks' "$tmp/groups" &&
	    grep 'OLDEST  FUNCTION' "$tmp/groups" || { cat "$tmp/groups"; return 1; }
}
rule "groups have the sums above them" groups

shows() {
	"$B/pagek" list --filter 'touches=0 & size>=8k' --format csv \
	    --fields address,size,touched_ms,touches,touch_blocks "pid:$server" \
	    >"$tmp/list" && python3 - "$tmp/list" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) > 0 and all(r["touches"] == "0" and r["touch_blocks"] == "1"
    and int(r["touched_ms"]) > 0 for r in rows), rows[:3]
PY
}
rule "pagek list has last touch, count and how many blocks share the pages" shows

page() {
	"$B/pagek" --page=R --once "pid:$server" >"$tmp/page" &&
	    head -n 3 "$tmp/page" && grep '^refs counts epochs, period [0-9.]* s' "$tmp/page" &&
	    "$B/pagek" --page=R --once --format json "pid:$server" >"$tmp/json" &&
	    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["pages"] == sum(r["pages"] for r in d["rows"]) > 0
assert {r["unit"] for r in d["rows"]} == {"epochs"}' "$tmp/json"
}
rule "page R names source, unit and period" page

says_a_long_age() {
	"$B/pagek" stale --age 999999h "pid:$server" >"$tmp/old" 2>&1
	head -n 1 "$tmp/old" && head -n 1 "$tmp/old" | grep -q 'older than 41666d, '
}
rule "an age of any length is said" says_a_long_age

# --- what cannot be done -----------------------------------------------------------

refused() {
	want=$1
	words=$2
	shift 2
	"$B/pagek" stale "$@" >"$tmp/out" 2>"$tmp/err"
	[ $? = "$want" ] && grep -e "$words" "$tmp/err" || { cat "$tmp/err"; return 1; }
}
rule "a demo has no pages" refused 3 'only the pages of a live process' demo:1
rule "an age has a unit" refused 2 "not an age" --age soon "pid:$server"
rule "a mark and a time exclude each other" refused 2 'mark is a moment of its own' \
    --mark a --for 3 "pid:$server"
rule "a mark that there is not is said" refused 3 "no mark 'never'" --mark never \
    "pid:$server"
rule "groups need a kind" refused 2 'is an order' --by age "pid:$server"

# --- counting that ends before the list is made --------------------------------------

no_counts() {
	"$B/pagek" refcnt --disable "pid:$server" 0 0xffffffffffffffff
}

# ends_early STATUS WORDS COMMAND...: the command ends counting.
ends_early() {
	want=$1
	words=$2
	shift 2
	no_counts || return 1
	: >"$tmp/err"
	"$B/pagek" stale --enable --age 0s --for 10 "pid:$server" >"$tmp/out" \
	    2>"$tmp/err" &
	stale=$!
	until_true 600 grep -q '^pagek: counting references to' "$tmp/err"
	"$@"
	wait $stale
	[ $? = "$want" ] && grep -e "$words" "$tmp/err" && [ ! -s "$tmp/out" ] || {
		cat "$tmp/err" "$tmp/out"
		return 1
	}
}
rule "nothing is stale where counting was ended meanwhile" ends_early 1 \
    'counting was ended before' no_counts
rule "nor where the target has ended" ends_early 3 'it ended' kill "$server"
say_result
