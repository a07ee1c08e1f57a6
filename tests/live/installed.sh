#!/bin/sh
# What `make install` leaves for programs that use the libraries: pkg-config's
# files, the exported symbols, and the examples, built from an installed tree.
set -u
. "$(dirname "$0")/lib.sh"
pagek=$B/pagek
library=$B/liballoclog.so
symbols=$top/dist/liballoclog0.symbols
refcnt=$B/libpagek-refcnt.so
refcnt_symbols=$top/dist/libpagek-refcnt0.symbols
usr=$tmp/usr
report=$tmp/report

# make_in GOAL ROOT PREFIX: by the same Makefile, without building anything.
make_in() {
	make -s -C "$top" B="$B" DESTDIR="$2" PREFIX="$3" "$1"
}
make_in install "" "$usr" >"$tmp/install.log" 2>&1 || cat "$tmp/install.log"
# Of Debian the libraries that the examples use, of pagek these alone.
PKG_CONFIG_PATH=$usr/lib/pkgconfig
export PKG_CONFIG_PATH

# --- the tree -----------------------------------------------------------------

stays_below() {
	root=$tmp/root
	make_in install "$root" /opt/pagek && [ -z "$(find "$root" -mindepth 1 \
	    -maxdepth 2 ! -path "$root/opt" ! -path "$root/opt/pagek")" ] ||
	    return 1
	for f in include/alloclog.h include/usage_xmemory.h \
	    lib/pkgconfig/alloclog.pc lib/pkgconfig/usage_xmemory.pc \
	    include/pk_refcnt.h lib/pkgconfig/pagek-refcnt.pc \
	    lib/pagek/libpagek-refcnt.so lib/pagek/libpagek-refcnt.so.0 \
	    lib/pagek/libusage_xmemory.a share/man/man3/alloclog.3 \
	    share/man/man3/refcnt.3 share/man/man5/refcnt.5; do
		[ -f "$root/opt/pagek/$f" ] || { echo "no $f"; return 1; }
	done
	make_in uninstall "$root" /opt/pagek || return 1
	find "$root" ! -type d
	[ -z "$(find "$root" ! -type d)" ]
}
rule "make install writes below DESTDIR and PREFIX, and uninstall takes all of it" \
    stays_below

# flags_of LIBRARY: as one who builds a program gets them.
flags_of() {
	[ "pagek $(pkg-config --modversion "$1")" = "$("$pagek" --version)" ] &&
	    [ "$(pkg-config --cflags "$1" | xargs)" = "-I$usr/include" ] &&
	    pkg-config --libs "$1" | grep -- "^-L$usr/lib/pagek -l$1"
}
rule "pkg-config has the flags and the version of alloclog" flags_of alloclog
rule "... and of usage_xmemory" flags_of usage_xmemory
rule "... and of pagek-refcnt" flags_of pagek-refcnt

moved() {
	cp -r "$usr" "$tmp/moved" &&
	    PKG_CONFIG_PATH=$tmp/moved/lib/pkgconfig pkg-config --define-prefix \
	    --cflags --libs alloclog | grep -- "-I$tmp/moved/include" |
	    grep -- "-Wl,-rpath,$tmp/moved/lib/pagek"
}
rule "a tree that was moved has the flags of its new place" moved

# --- symbols ------------------------------------------------------------------

# soname LIBRARY SYMBOLS
soname() {
	name=$(basename "$1").0
	readelf -d "$1" | grep -qF "[$name]" && grep -q "^$name " "$2" &&
	    [ -f "$usr/lib/pagek/$name" ]
}
rule "a library has a versioned name, which is installed" \
    soname "$library" "$symbols"
rule "... and that of the counters, too" soname "$refcnt" "$refcnt_symbols"

# same_symbols LIBRARY SYMBOLS
same_symbols() {
	sed -n 's/^ \(.*\)@Base .*/\1/p' "$2" >"$tmp/listed" &&
	    nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort |
	    diff "$tmp/listed" -
}
rule "a library exports what its list of symbols has, and no more" \
    same_symbols "$refcnt" "$refcnt_symbols"

counters_declared() {
	grep -o 'pk_[a-z_]*(' "$usr/include/pk_refcnt.h" | tr -d '(' |
	    LC_ALL=C sort -u | diff "$tmp/listed" -
}
rule "... all that its header declares is among them" counters_declared
rule "... and the library of blocks, too" same_symbols "$library" "$symbols"

declared() {
	sed -n 's/^[a-z].*\(alloclog_[a-z_]*\)(.*/\1/p' \
	    "$usr/include/alloclog.h" | sort >"$tmp/declared" &&
	    grep -x 'alloclog_.*' "$tmp/listed" | diff "$tmp/declared" - &&
	    [ "$(wc -l <"$tmp/declared")" -gt 10 ]
}
rule "... all that the header declares is among them" declared

# One that appears by accident and one that is gone.
differs() {
	printf 'void alloclog_alloc(void) {}\nint slipped_out;\n' >"$tmp/other.c" &&
	    gcc -shared -fPIC -o "$tmp/other.so" "$tmp/other.c" || return 1
	same_symbols "$tmp/other.so" "$symbols" >"$tmp/difference"
	grep -q '^> slipped_out' "$tmp/difference" &&
	    grep -q '^< alloclog_mark' "$tmp/difference"
}
rule "an export by accident, and one that is gone, are noticed" differs

if command -v dpkg-gensymbols >/dev/null; then
	# debian PACKAGE LIBRARY SYMBOLS
	debian() {
		(cd "$tmp" && dpkg-gensymbols -c4 -v0.1 -p"$1" -e"$2" \
		    -I"$3" -Osymbols.new)
	}
	rule "Debian's dpkg-gensymbols finds nothing to change in the list" \
	    debian liballoclog0 "$library" "$symbols"
	rule "... nor in that of the counters" \
	    debian libpagek-refcnt0 "$refcnt" "$refcnt_symbols"
else
	skip "dpkg-dev is not installed: dpkg-gensymbols does not read the list"
fi

# --- examples -----------------------------------------------------------------

# build COMPILER STANDARD SOURCE LIBRARY...: without a warning.
build() {
	compiler=$1 standard=$2 source=$3
	shift 3
	"$compiler" -std="$standard" -O1 -g -Wall -Wextra -Werror -o "$tmp/example" \
	    "$top/examples/$source" $(pkg-config --cflags --libs "$@")
}
run_example() {
	"$pagek" run -b -o "$tmp/text" --filter layer=api --report "$report" \
	    -- "$tmp/example" "$@" </dev/null >"$tmp/said"
}

in_c() {
	for compiler in gcc clang; do
		for standard in c11 c17; do
			build $compiler $standard arena.c alloclog || return 1
		done
	done
}
rule "C: examples/arena.c builds with gcc and clang" in_c

# 2 x 3000 + 10 requests were made; the program has counted those that failed.
arena_once() {
	run_example 3000 || return 1
	refused=$(sed -n 's/.*, \([0-9]*\) requests have failed/\1/p' "$tmp/said")
	cat "$tmp/said" "$tmp/text" "$report"
	[ "$refused" -gt 1000 ] &&
	    [ "$(grep -c ' C1 reader ' "$tmp/text")" -eq 10 ] &&
	    grep -q "\"failed\": $refused," "$report" &&
	    grep -q '"unknown_free": 0,' "$report"
}
rule "... and its blocks, resets and failed requests are all counted" \
    unless_busy arena_once

in_cxx() {
	for compiler in g++ clang++; do
		for standard in c++11 c++14 c++17 c++20; do
			build $compiler $standard types.cc alloclog \
			    usage_xmemory || return 1
		done
	done
}
rule "C++: examples/types.cc builds with g++ and clang++" in_cxx

types_once() {
	run_example || return 1
	sed 1d "$tmp/said" >"$tmp/rows"
	printf '%s\n' shop::order:1:8:5:8 int:8:8:0:8 |
	    diff - "$tmp/rows" && cat "$tmp/text" &&
	    [ "$(grep -c ' C1 ORDER ' "$tmp/text")" -eq 3 ] &&
	    [ "$(grep -c ' C2 LINES ' "$tmp/text")" -eq 8 ]
}
rule "... and page K has as many blocks as usage_xmemory counts" \
    unless_busy types_once

hottest() {
	for compiler in gcc clang; do
		for standard in c11 c17; do
			build $compiler $standard hottest.c pagek-refcnt || return 1
		done
	done
	"$tmp/example" "$top/tests/corpus/refcnt/target" >"$tmp/said" || return 1
	cat "$tmp/said"
	grep -q ': the node has ended, these are its last counts$' "$tmp/said" || return 1
	sed 1,2d "$tmp/said" >"$tmp/rows"
	printf '%s\n' '0x41000  -1  refs  0 8589934592' '0x40000  -1  refs  5007 0' \
	    '0x50000  -1  smpl  1 0 of any node' | sed 's/$/ ended/' | sed 's/  */ /g' >"$tmp/wanted"
	sed 's/  */ /g; s/^ //' "$tmp/rows" | diff "$tmp/wanted" -
}
rule "examples/hottest.c prints the hottest pages of a mapped file" hottest

hottest_refuses() {
	for file in version sets counters slot; do
		! "$tmp/example" "$top/tests/corpus/refcnt/$file" >"$tmp/said" \
		    2>"$tmp/error" || return 1
		cat "$tmp/error"
		grep -q "^hottest: .*/$file .*" "$tmp/error" || return 1
	done
	! "$tmp/example" "$usr/include/pk_refcnt.h" 2>"$tmp/error" &&
	    grep 'is not a file of reference counters$' "$tmp/error"
}
rule "... and says why it does not read a damaged or foreign one" hottest_refuses

# Below another root, as a packager has it, and with a copy of the source alone.
staged() {
	root=$tmp/stage
	make_in install "$root" /opt/pagek || return 1
	mkdir "$tmp/alone" && cp "$top/examples/hottest.c" "$top/examples/counted.c" \
	    "$tmp/alone" && cd "$tmp/alone" || return 1
	for example in hottest counted; do
		gcc -std=c11 -O1 -Wall -Wextra -Werror -o $example $example.c \
		    $(PKG_CONFIG_PATH=$root/opt/pagek/lib/pkgconfig \
		    PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs \
		    alloclog pagek-refcnt) || return 1
	done
	LD_LIBRARY_PATH=$root/opt/pagek/lib/pagek ./hottest \
	    "$top/tests/corpus/refcnt/target" >"$tmp/said" && sed 1,2d "$tmp/said" |
	    sed 's/  */ /g; s/^ //' | diff "$tmp/wanted" -
}
rule "... also one that was built against a tree below DESTDIR" staged

has_map() {
	map=$(echo "$XDG_RUNTIME_DIR"/pagek/refcnt/*/refcnt.node0) && [ -f "$map" ]
}
# A program's own pages, while `hottest` reads the same file from outside.
counted() {
	cp "$tmp/example" "$tmp/hottest" &&
	    build gcc c11 counted.c alloclog pagek-refcnt || return 1
	"$pagek" run -b -o /dev/null -- "$tmp/example" 2 </dev/null >"$tmp/said" &
	run=$!
	until_true 30 has_map && "$tmp/hottest" "$map" >"$tmp/hot"
	read_it=$?
	wait $run || return 1
	cat "$tmp/hot" "$tmp/said"
	[ $read_it = 0 ] && [ "$(grep -c ' -\?[0-9]*  smpl  ' "$tmp/hot")" = 8 ] &&
	    awk '{ sub(/:/, "", $2); n[$2] = $3; coarse[$2] = $4 != "" }
	    END {
		for (i = 0; i < 8; i++) {
			touched = i == 1 || i == 6
			bad += touched && n[i] < 2
			bad += !touched && n[i] > 0 && !coarse[i]
			bad += !touched && n[i] + 2 > n[1]
		}
		exit NR != 8 || bad > 0
	    }' "$tmp/said"
}
rule "examples/counted.c: touched pages of its own have counts, others have none" \
    unless_busy counted

in_cxx_too() {
	printf '#include <pk_refcnt.h>\nint main() { return pk_refcnt_why()[0]; }\n' \
	    >"$tmp/why.cc" &&
	    g++ -std=c++11 -Wall -Wextra -Werror -o "$tmp/why" "$tmp/why.cc" \
	    $(pkg-config --cflags --libs pagek-refcnt) && "$tmp/why"
}
rule "... whose header is one of C++ as well" in_cxx_too

# The program may be run without a node, and without pkg-config's library path.
alone() {
	build gcc c17 arena.c alloclog && [ "$(PAGEK_NODE= "$tmp/example" 20 \
	    </dev/null)" = '10 objects are there, 0 requests have failed' ]
}
rule "a linked program runs without a node" alone

say_result
