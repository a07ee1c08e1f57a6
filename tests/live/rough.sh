#!/bin/sh
# Rough use: bursts, small limits, full disks, odd words.  What could not be
# watched is told; the command ends as it would without us.
. "$(dirname "$0")/lib.sh"

pagek=$B/pagek

# A line for each image, and only whole lines: numbers, or nothing known.
cat >"$tmp/lines.py" <<'PY'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
print(len(lines), "lines,", sum(l["allocs"] is None for l in lines), "unknown")
for l in lines:
    # When it was armed is null of one that never slept, and so is what stands
    # for a sample of one that logs everything.
    known = [v is not None for k, v in l.items()
             if k not in ("armed_ms", "sample_period")]
    assert all(known) or not l["complete"], l
    assert all(known) or sum(known) == 6, l
assert sys.argv[2] in ("any", str(len(lines)))
assert sys.argv[3:] != ["unknown"] or any(l["allocs"] is None for l in lines)
PY
report=$tmp/r
lines() {
	python3 "$tmp/lines.py" "$@"
}

# without_lines PAGE: prints the number of unwatched images without a line in the report.
without_lines() {
	told=$(sed -n 's/^pagek: \([0-9,]*\) process image.*could not.*/\1/p' "$1" |
	    tr -d ,)
	echo $((${told:-0} - $(grep -c '"allocs": null' "$report")))
}

# The children of a first process that was not heard in time are not ours.
burst() {
	"$pagek" run -b -o "$tmp/page" --report "$tmp/r" -- perl -e '
		$| = 1;
		print "$$\n";
		for my $i (1 .. 400) {
			next if fork;
			my @x = map { "x" x $_ } 1 .. 50;
			exit 0;
		}
		my $n = 0;
		$n++ while wait > 0;
		print "$n\n"' >"$tmp/out" || return 1
	grep "\"pid\": $(head -n 1 "$tmp/out")," "$tmp/r" |
	    grep -q '"allocs": null' && return 2
	grep -qx 400 "$tmp/out" &&
	    lines "$tmp/r" $((401 - $(without_lines "$tmp/page")))
}
rule "each of 400 children forked at once has its line, or is counted as unseen" \
    tries burst

burst_exec() {
	"$pagek" run -b -o /dev/null --report "$tmp/r" -- sh -c '
		i=0
		while [ $i -lt 150 ]; do /bin/true & i=$((i + 1)); done; wait' &&
	    lines "$tmp/r" 301
}
rule "of 150 programs started at once each image has its line" \
    unless_busy burst_exec

# The rings are 64 MiB: such a program runs without them.
too_small() {
	"$pagek" run -b -o "$tmp/page" --report "$tmp/r" -- sh -c '
		ulimit -v 60000
		exec perl -e "my @a = (1 .. 1000); print scalar @a"' \
	    >"$tmp/out" || return 1
	[ "$(cat "$tmp/out")" = 1000 ] && lines "$tmp/r" 2 unknown &&
	    grep -q "NO DATA" "$tmp/page" && grep -q "1 process image" "$tmp/page"
}
rule "a program without room for the rings is not told as silent" too_small

# limited LIMIT NAME: a limit set around us is the command's, not ours.
limited() {
	sh -c "ulimit $1; exec env --default-signal=XFSZ '$pagek' run -b \
	    -o /dev/null --report '$tmp/r' -- sh -c 'ulimit ${1% *}; exit 5'" \
	    >"$tmp/out"
	[ $? = 5 ] && [ "$(cat "$tmp/out")" = "${1##* }" ] && lines "$tmp/r" 1
}
rule "a limit on descriptors is kept for the command" limited "-n 30"

# What is made ahead of targets could take the last ones, at some limit.
few_descriptors() {
	for n in $(seq 24 48); do
		limited "-n $n" || {
			echo "with $n"
			return 1
		}
	done
}
rule "whatever it is, the command is watched and told of" few_descriptors
watched_within() {
	limited "$1" && ! grep -q '"allocs": null' "$tmp/r"
}
# So large that a target takes no more than its share, too small for the node.
rule "under a limit on memory the command is watched" \
    unless_busy watched_within "-S -v 1000000"
rule "under a limit on file sizes likewise" \
    unless_busy watched_within "-S -f 100"
rule "under a limit on data likewise" \
    unless_busy watched_within "-S -d 100000"

# Lines of the report are whole, as far as the file may grow.
short_report() {
	sh -c "ulimit -f 1; exec env --default-signal=XFSZ '$pagek' run -b \
	    -o /dev/null --report '$tmp/r' -- sh -c 'ls; ls; exit 5'" \
	    >/dev/null 2>"$tmp/err"
	[ $? = 5 ] && grep -q "^pagek: .*report.*File too large" "$tmp/err" &&
	    lines "$tmp/r" any
}
rule "a report that cannot grow has whole lines, and that is told" short_report

full_report() {
	"$pagek" run -b -o /dev/null --report /dev/full -- sh -c 'exit 5' \
	    2>"$tmp/err"
	[ $? = 5 ] && grep -q "^pagek: .*report.*No space left" "$tmp/err"
}
rule "a report that could not be written is told" full_report
no_report() {
	"$pagek" run -b -o /dev/null --report /dev/full -- true 2>"$tmp/err"
	[ $? = 125 ] && grep -q "^pagek: .*report.*No space left" "$tmp/err"
}
rule "and is no success, whatever the command says" no_report

report_on_stdout() {
	(cd "$tmp" && "$pagek" run -b -o /dev/null --report - -- true \
	    >"$tmp/r") && lines "$tmp/r" 1 && [ ! -e "$tmp/-" ]
}
rule "a report goes to the standard output as -" report_on_stdout

no_name() {
	"$pagek" run -b -o /dev/null -- '' 2>"$tmp/err"
	[ $? = 127 ] && grep -q "^pagek: cannot run ''" "$tmp/err"
}
rule "a command without a name is told as one that is not there" no_name

long_folder() {
	long=$tmp/$(printf '%080d' 0)
	mkdir -m 700 "$long"
	XDG_RUNTIME_DIR=$long "$pagek" run -b -o /dev/null -- \
	    touch "$tmp/started" 2>"$tmp/err"
	[ $? = 125 ] && [ ! -e "$tmp/started" ] &&
	    grep -q "File name too long" "$tmp/err" &&
	    grep -q "not seen to start" "$tmp/err"
}
rule "a folder whose sockets cannot have a name is told, nothing is started" \
    long_folder

closed_output() {
	"$pagek" list demo:note >&- 2>"$tmp/err"
	[ $? = 1 ] && grep -q "Bad file descriptor" "$tmp/err"
}
rule "a list that nobody can read is an error" closed_output

# What a killed node leaves behind goes with the next look.
killed_node() {
	"$pagek" run -b -o /dev/null -- sleep 1 2>/dev/null &
	run=$!
	until_true 10 sh -c "'$pagek' targets | grep -q sleep" || return 1
	kill_node "$(pgrep -P $run -x pageknode)"
	wait $run
	"$pagek" targets >/dev/null 2>&1
	ls -A "$XDG_RUNTIME_DIR/pagek"
	[ -z "$(ls -A "$XDG_RUNTIME_DIR/pagek")" ]
}
rule "the sockets of a killed node do not stay for ever" killed_node

if [ "$(id -u)" = 0 ]; then
	other_user() {
		"$pagek" run -b -o "$tmp/page" -- perl -e '
			$> = $< = 65534; exit wait > 0 ? 0 : 1 if fork;
			sleep 1 until -e "'"$tmp/stop"'"; exit 0' &
		run=$!
		until_true 10 sh -c "'$pagek' targets |
		    grep -q 'NO DATA.*another user'"
		status=$?
		touch "$tmp/stop"
		wait $run
		grep -q '^pagek: perl.*NO DATA.*another user' "$tmp/page" &&
		    return $status
	}
	chmod 755 "$tmp"
	rule "a child that can no longer reach the node says so, also at its end" \
	    other_user

	short_lived() {
		"$pagek" run -b -o "$tmp/page" --report "$tmp/r" -- perl -e '
			$> = $< = 65534; exec "/bin/true"' &&
		    cat "$tmp/page" &&
		    grep -q '^pagek: perl.*exec: ' "$tmp/page" &&
		    grep -q '^pagek: true.*NO DATA.*another user' "$tmp/page" &&
		    lines "$tmp/r" any && grep -q '"comm": "true"' "$tmp/r"
	}
	rule "so is a program of another user that is over at once" short_lived
fi

say_result
