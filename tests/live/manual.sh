#!/bin/sh
# The manual is true to the program: options and keys of the tables stand in
# pagek(1), and nothing else does; what a node answers is as pagek-protocol(7)
# shows it.  Its messages are check_wire_manual's.
. "$(dirname "$0")/lib.sh"

man=$top/man/pagek.1

options() {
	"$B/pagek" --help | grep -o -e '--[a-z][a-z-]*' | sort -u >"$tmp/program"
	sed -n '/^The options are:/,/^\.Ss/p' "$man" |
	    grep -o 'Fl -[a-z][a-z-]*' | sed 's/Fl -/--/' | sort -u >"$tmp/manual"
	diff "$tmp/program" "$tmp/manual"
}
rule "each option of the program is in the manual, and the reverse" options

commands=$("$B/pagek" help | sed -n '/^Commands/,/^$/s/^  \([a-z-]*\) .*/\1/p')

described() {
	printf '%s\n' $commands | sort >"$tmp/program"
	sed -n '/^The commands are:/,/^\.El/s/^\.It Cm //p' "$man" |
	    tr ' ' '\n' | grep '^[a-z]' | sort >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each command of the program is in the manual, and the reverse" described

# What stands in the manual as "Taken by", an option and a command on a line.
taken_by() {
	sed -n '/^The options are:/,/^\.Ss/p' "$man" | awk -v all="$(echo $commands)" '
	/^\.It / {
		match($0, /Fl -[a-z-]+/)
		option = "--" substr($0, RSTART + 4, RLENGTH - 4)
	}
	/^Taken by all commands/ {
		n = split(all, c, " ")
		for (i = 1; i <= n; i++)
			print option, c[i]
	}
	/^\.Ic / { print option, $2 }' | sort
}

takers() {
	for c in $commands; do
		"$B/pagek" help $c | sed -n '/^Options/,$p' |
		    grep -o -e '^  \(-[a-zA-Z],\|   \) --[a-z][a-z-]*' |
		    sed "s/.*--/--/; s/\$/ $c/"
	done | sort >"$tmp/program"
	taken_by >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "the manual says of each option which commands take it" takers

# Keys of the table, of each page, and those that a panel has for itself.
keys() {
	{
		sed -n 's/^KEY([A-Z_]*, "\([^"]*\)".*/\1/p' \
		    "$top/src/pagek/picture/keys.def"
		sed -n 's/^PAGE([A-Z_]*, [A-Z], \([0-9]\),.*/\1/p' \
		    "$top/src/pagek/picture/pages.def"
		sed -n 's/^	{ \.names = "\([^"]*\)".*/\1/p' \
		    "$top"/src/pagek/app/*.c "$top"/src/pagek/app/pages/*.c
	} | sort >"$tmp/program"
	sed -n '/^The keys are:/,/^\.El/s/^\.It Ic \(\\&\)\{0,1\}//p' "$man" |
	    sed 's/\\e/\\\\/' |
	    sort >"$tmp/manual"
	diff "$tmp/program" "$tmp/manual"
}
rule "each key of the table is in the manual, and the reverse" keys

fields() {
	"$B/pagek" help list | sed -n '/The fields are$/,$s/^  \([a-z_]*\) .*/\1/p' |
	    sort >"$tmp/program"
	sed -n '/^\.Ss Filters/,/^\.El/s/^\.It Cm //p' "$man" |
	    sort >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each field of filters is in the manual, and the reverse" fields

node_options() {
	"$B/pageknode" --help | grep -o -e '^  --[a-z-]*' | tr -d ' ' |
	    sort >"$tmp/program"
	sed -n '/^The options are:/,/^\.El/p' "$top/man/pageknode.8" |
	    sed -n 's/^\.It Fl -\([a-z-]*\).*/--\1/p' | sort >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each option of pageknode is in its manual, and the reverse" node_options

cat >"$tmp/keys.py" <<'PY'
import json
import sys
def walk(v, name):
    for x in v if isinstance(v, list) else [v]:
        if isinstance(x, dict):
            for k, y in x.items():
                walk(y, name + [k])
        elif name:
            there.add(".".join(name))
there = set()
walk(json.load(open(sys.argv[1])), [])
# A stack that there is not has no keys.
print("\n".join(there - {"blocks.stack"}))
PY
# What --free adds is in free.sh.
blocks_keys() {
	"$B/pagek" list --format json demo:1 >"$tmp/json" || return 1
	python3 "$tmp/keys.py" "$tmp/json" | sort >"$tmp/program"
	sed -n '/^\.Ss Keys of pagek.blocks/,/^\.El/s/^\.It Cm //p' "$man" |
	    sed 's/ , /\n/g' | grep -v 'region\|kind' | sort >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each key of pagek.blocks/2 is in the manual, and the reverse" blocks_keys

# What files may say: settings with what is built in, and keys of nodes.
settings() {
	env -u NO_COLOR -u PAGEK_REMOTE "$B/pagek" config --show --no-config | sed -n \
	    's/^# \([a-z-]*\) = .*/\1/p; s/^\([a-z-]* = [^ ]*\) .*/\1/p' |
	    sort >"$tmp/program"
	sed -n '/^The settings are/,/^\.El/s/^\.It Cm //p' \
	    "$top/man/pagek.conf.5" | sed 's/ No = / = /' | sort >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each setting is in its manual with what is built in, and the reverse" settings
# The keys that a panel has for itself cannot be bound.
actions() {
	{
		sed -n 's/^KEY(\([A-Z_]*\), ".*/\1/p' "$top/src/pagek/picture/keys.def"
		sed -n 's/^PAGE(\([A-Z_]*\), .*/\1/p' "$top/src/pagek/picture/pages.def"
	} | tr 'A-Z_' 'a-z-' | sort >"$tmp/program"
	sed -n '/^\.Ss Keys/,/^\.El/s/^\.Cm \([a-z-]*\)$/\1/p' \
	    "$top/man/pagek.conf.5" | grep -v '^none$' | sort >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each action of a key is in pagek.conf(5), and the reverse" actions
node_keys() {
	sed -n 's/^\t{ "\([a-z]*\)", take_[a-z]*,.*/\1/p' \
	    "$top/src/nodes/places/table.c" | sort >"$tmp/program"
	sed -n '/^The keys are:/,/^\.El/s/^\.It Cm \([a-z]*\) .*/\1/p' \
	    "$top/man/nodes.5" | sort >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each key of a node is in its manual, and the reverse" node_keys
example() {
	mkdir -p "$XDG_CONFIG_HOME/pagek" &&
	    sed -n '/^# number name/,/^\.Ed/{/^\.Ed/d;p}' \
	    "$top/man/nodes.5" >"$XDG_CONFIG_HOME/pagek/nodes" &&
	    sed -n '/^sort = /,/^\.Ed/{/^\.Ed/d;p}' \
	    "$top/man/pagek.conf.5" >"$XDG_CONFIG_HOME/pagek/config" &&
	    "$B/pagek" nodes >"$tmp/out" 2>"$tmp/err"
	cat "$tmp/out" "$tmp/err"
	[ "$(wc -l <"$tmp/out")" = 4 ] && [ ! -s "$tmp/err" ]
}
rule "the manuals' own table and settings can be read" example

types() {
	sed -n 's/^\t{ TYPE_[A-Z_]*, "\([^"]*\)".*/\1/p' \
	    "$top/src/stream/types.c" >"$tmp/program"
	sed -n '/^\.Ss Types/,/^\.El/s/^\.It [0-9A-F]\{2\} Ta \([^ ]*\) Ta.*/\1/p' \
	    "$top/man/pagek-stream.5" >"$tmp/manual"
	[ -s "$tmp/program" ] && diff "$tmp/program" "$tmp/manual"
}
rule "each type of block is in the manual, and the reverse" types

# The bytes of the example are those of another node at another time: the same
# messages with the same keys, and values of the same kind and, of byte strings,
# length.
cat >"$tmp/shape.py" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from daemon import decode
def messages(text, width):
    b = bytes.fromhex("".join(l[:width] for l in text.splitlines()))
    while b:
        n = int.from_bytes(b[:4], "big")
        m, end = decode(b, 4)
        assert end == 4 + n <= len(b), (end, n, len(b))
        yield m
        b = b[end:]
def shape(m):
    return {k: (type(v), len(v) if isinstance(v, bytes) else
                v if k < 3 else None) for k, v in m.items()}
# What the manual says of its bytes stands behind a margin.
told = [shape(m) for m in messages(open(sys.argv[2]).read(), 36)]
got = [shape(m) for m in messages(open(sys.argv[3]).read(), None)]
print(told, got, sep="\n")
assert len(told) == 2 and told == got
PY
exchange() {
	"$B/pageknode" 2>"$tmp/node.said" &
	node=$!
	until_true 10 sh -c "'$B/pagek' listings >/dev/null" || return 1
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$top/man/pagek-protocol.7" |
	    sed -n '/^\.Bd/,/^\.Ed/p' | sed 's/\\e/\\/g' >"$tmp/blocks"
	sed -n '/^\$ /,/^\.Ed/{s/^\$ //;/^\.Ed/d;p}' "$tmp/blocks" \
	    >"$tmp/example"
	sed '1,/^\.Ed/d; /^\./d' "$tmp/blocks" >"$tmp/told"
	PATH=$B:$PATH sh "$tmp/example" >"$tmp/got"
	kill $node && wait $node
	cat "$tmp/example" "$tmp/got"
	python3 "$tmp/shape.py" "$top/tests/live" "$tmp/told" "$tmp/got"
}
rule "the exchange in pagek-protocol(7) runs as printed, and is so answered" exchange

helps() {
	for c in '' $commands; do
		"$B/pagek" $c --help >"$tmp/out" 2>"$tmp/err" || return 1
		[ -s "$tmp/out" ] && [ ! -s "$tmp/err" ] || return 1
	done
	"$B/pagek" --version | grep -q '^pagek [0-9]'
}
rule "--help and --version go to standard output with status 0" helps

say_result
