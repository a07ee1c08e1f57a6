# Sourced by the tests of contrib/heapstress, after lib.sh and lib_guest.sh.
#
# build_module, build_kstress		add heapstress.ko, kstress to a guest's files.
# heapstress_script PART...		prints a guest's script of these parts (see below).
# stock_guest NAME PART...		tests a kernel that Debian ships, with these parts.

heapstress=$top/contrib/heapstress

# No BTF for the module: it needs pahole, and the test does not use it.
build_module() {
	rm -rf "$tmp/module"
	cp -r "$heapstress/module" "$tmp/module" &&
	    make -s -C "$tmp/module" KDIR="$headers" CC=gcc \
		CONFIG_DEBUG_INFO_BTF_MODULES= "$@" &&
	    cp "$tmp/module/heapstress.ko" "$tmp/files"
}

build_kstress() {
	gcc -O2 -Wall -Wextra -Werror -static -o "$tmp/files/kstress" \
	    "$heapstress/test/kstress.c"
}

heapstress_script() {
	script names "$@"
}

# --- parts of scripts --------------------------------------------------------------------------

names_part() {
	cat <<-'RUN'
		f=/proc/allocinfo
		param=/sys/module/heapstress/parameters
	RUN
}

# The module's file and its parameters.
file_part() {
	cat <<'RUN'
is() {
	[ "$(stat -c '%a %g' $1)" = "$2" ] || { stat -c '# %a %g' $1; false; }
}
check "a number that is no group is refused" not insmod /heapstress.ko gid=-2
check "... and the kernel's log says so" sh -c "dmesg | grep -q 'gid=-2 is no group'"
check "... and no file" not [ -e $f ]
insmod /heapstress.ko name=other gid=104
check "a group may read it" is /proc/other "440 104"
check "... under the name that was given" not [ -e $f ]
rmmod heapstress
check "the file disappears with the module" not [ -e /proc/other ]
insmod /heapstress.ko
check "only root may read the file" is $f "400 0"
check "a second module is refused" not insmod /heapstress.ko
rmmod heapstress
RUN
}

# Loads that move all levels.  The file has a name that pagek does not look for, so
# that pagek counts by eBPF beside the module.
levels_part() {
	cat <<'RUN'
insmod /heapstress.ko name=six
cat >/tmp/load <<'LOAD'
ALLOCINFO=/proc/six /kstress /dev/vda >/tmp/kstress 2>&1
LOAD
[ -e /pagek-levels ] || echo "ALLOCINFO=/proc/six /kstress /dev/vda" >/tmp/load
sh -c 'echo -1000 >/proc/self/oom_score_adj
    exec /pagek stress --format ndjson -- sh /tmp/load' 2>/tmp/levels
[ ! -e /tmp/kstress ] || cat /tmp/kstress
check "no request was missed" [ "$(cat $param/missed)" = 0 ]
sed 's/^/ebpf: /' /tmp/levels
rmmod heapstress
RUN
}

# Two pages of one node.
pages_part() {
	cat <<'RUN'
start_pages() {
	/pageknode --no-supervisor &
	node=$!
	until_true [ -S /tmp/run/pagek/node ]
	pages=
	for page in a b; do
		/pagek -b --ascii --page=S --interval 0.5 \
		    unix:/tmp/run/pagek/node >/tmp/$page 2>&1 &
		pages="$pages $!"
	done
}
end_pages() {
	kill $pages $node
	wait $pages $node
}
both() {
	"$@" /tmp/a && "$@" /tmp/b
}
# Requests since the mark: the column of the last picture's rows, added.
counts() {
	[ "$(grep -E '^[1-6] .* [0-9,]+ +[0-9,]+ ' $2 | tail -n 6 | cut -c48-59 | tr -d ' ,' |
	    awk '{ n += $1 } END { print n + 0 }')" -ge $1 ]
}
fill() {
	dd if=/dev/zero of=/tmp/fill bs=1M count=40 2>/dev/null
	rm /tmp/fill
}
RUN
}

# Two pages show the module's file while another program reads it.
module_pages_part() {
	pages_part
	cat <<'RUN'
steal() {
	fill
	cat $f >/dev/null
	both grep -q 'another program has read [0-9,]* of the counts'
}
insmod /heapstress.ko
start_pages
check "page S shows the file's counts" \
    until_true both grep -q "^source: the kernel's six counts, exact"
fill
check "two pages lose no count" until_true both counts 10240
# says SOURCE: levels 1 to 5 are the requests of /proc/vmstat, and 40 MiB are among them.
says() {
	/pagek stress --format ndjson unix:/tmp/run/pagek/node -- \
	    dd if=/dev/zero of=/tmp/fill bs=1M count=40 2>/tmp/said
	rm /tmp/fill
	grep -q "\"source\": \"$1\"" /tmp/said && sed -n '/level_1/{s/[{},]/\n/g;p;}' /tmp/said |
	    awk '/"level_[1-5]":/ { sum += $2 } /"requests":/ { all = $2 }
		/"taken_by_others":/ { taken = $2 } /"missed":/ { missed = $2 }
		END { n = sum - all; exit !(sum >= 10240 && n * n < 64 * 64 &&
		    taken == 0 && missed == 0) }'
}
check "pagek stress says what the file says, and /proc/vmstat" says file
check "page S notices another reader" until_true steal
end_pages
rmmod heapstress
RUN
}

# eBPF counts while perf counts the requests of a program.
ebpf_part() {
	cat <<'RUN'
/pagek stress --interval 0.5 --format ndjson >/tmp/ebpf &
ebpf=$!
counts_by_ebpf() {
	tail -n 1 /tmp/ebpf | grep -q '"source": "ebpf"'
}
until_true counts_by_ebpf
# requests N: those of a program that touches N pages.
requests() {
	/pagek stress --only=command --format ndjson -- /kstress - touch $1 2>/tmp/said
	sed -n 's/.*"requests": *\([0-9]*\).*/\1/p' /tmp/said
}
one=$(requests 1)
many=$(requests 8193)
echo "# 1 page: $one requests, 8193 pages: $many"
check "a program that touches N more pages makes N to N + 64 requests" \
    [ $((many - one)) -ge 8192 -a $((many - one)) -le 8256 ]
check "... which eBPF counts too and does not hide from perf" counts_by_ebpf
kill $ebpf
wait $ebpf
RUN
}

# A control group of version 2 reads more than its limit, then asks for more at once.
# The module counts beside it.
charge_part() {
	cat <<'RUN'
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
group=/sys/fs/cgroup/limited
mkdir $group
echo 24M >$group/memory.max
insmod /heapstress.ko name=six
# limited COMMAND...: counts it in the group; the module's six are then in /tmp/six.
limited() {
	cat /proc/six >/dev/null
	sh -c 'echo $$ >$0/cgroup.procs && exec "$@"' $group \
	    /pagek stress --only=command --format ndjson -o /tmp/said -- "$@"
	cat /proc/six >/tmp/six
	sed -n '/level_1/{s/[{},]/\n/g;p;}' /tmp/said | sed 's/^ *//' >/tmp/fields
	cat /tmp/six >>/tmp/said
}
# has FIELD LEAST
has() {
	awk -v key="\"$1\":" -v least=$2 '$1 == key && $2 != "null" && $2 >= least { n++ }
	    END { exit !n }' /tmp/fields
}
no_level() {
	has level_1 1 && ! has level_4 1 && ! has level_5 1 && ! has level_6 1 &&
	    grep -q ' 0 0 0$' /tmp/six
}
limited dd if=/dev/vda of=/dev/null bs=64k count=1600 2>/dev/null
check "a limit of a control group moves its charge row" has charge_max 100
check "... with the pages that its requests have freed" has charge_pgsteal_direct 10000
check "... and no level from 4 on, of perf and of the module" no_level
limited dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null
check "a process that is killed for the limit is in the charge row" has charge_oom_kill 1
check "... and in no level from 4 on" no_level
echo $$ >/sys/fs/cgroup/cgroup.procs
rmdir $group
rmmod heapstress
RUN
}

# Allocations go on while the module comes and goes.
reload_part() {
	cat <<'RUN'
dd if=/dev/vda of=/dev/null bs=64k 2>/dev/null &
load=$!
comes_and_goes() {
	for i in 1 2 3 4 5; do
		insmod /heapstress.ko && cat $f >/dev/null && rmmod heapstress ||
		    return 1
	done
}
check "the module is unloaded and loaded under load" comes_and_goes
kill $load
wait $load
RUN
}

# Nodes of users without capabilities: one in the module's group, another one not.
group_part() {
	cat <<'RUN'
start_node() {
	mkdir -m 700 /tmp/run$1
	chown $1:$1 /tmp/run$1
	as $1 env XDG_RUNTIME_DIR=/tmp/run$1 /pageknode --no-supervisor &
	until_true [ -S /tmp/run$1/pagek/node ]
	node=$(pidof pageknode)
}
# node_of_user_has USER SOURCE
node_of_user_has() {
	as $1 env XDG_RUNTIME_DIR=/tmp/run$1 /pagek stress --format ndjson \
	    unix:/tmp/run$1/pagek/node >/tmp/stress$1
	cat /tmp/stress$1
	grep -q "\"source\": *\"$2\"" /tmp/stress$1
}
no_capabilities() {
	grep -q '^CapEff:.0*$' /proc/$node/status &&
	    grep -q "^Uid:.$1.$1" /proc/$node/status
}
insmod /heapstress.ko gid=104
start_node 104
check "a node of the group has no capabilities" no_capabilities 104
check "... and reads the counts" node_of_user_has 104 file
kill $node
wait
start_node 105
check "a node of another group" no_capabilities 105
check "... has the next source" node_of_user_has 105 vmstat
kill $node
wait
rmmod heapstress
RUN
}

# The module follows one request at once, and two programs make some.
missed_part() {
	cat <<'RUN'
insmod /heapstress.ko frames=1
crowd() {
	for i in 1 2 3; do
		dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null &
	done
	wait
	[ "$(cat $param/missed)" -gt 0 ]
}
check "requests that the module cannot follow are counted" until_true crowd
/pagek stress >/tmp/said
check "... and shown" grep -q 'the module has not followed [1-9]' /tmp/said
check "... so its counts are estimates" grep -q '^1 default criteria *~' /tmp/said
rmmod heapstress
RUN
}

# The module cannot count: the next source down is perf, without eBPF.
next_source_part() {
	cat <<'RUN'
rm -f /pagek-levels
next=events
# source_is SOURCE [NODE]: the last line that pagek prints has this source.
source_is() {
	/pagek stress --interval 0.5 --count 3 --format ndjson $2 >/tmp/next
	tail -n 1 /tmp/next | grep -q "\"source\": *\"$1\""
}
RUN
}

# Kprobes are switched off before the module is loaded, then while it counts.
kprobes_part() {
	next_source_part
	cat <<'RUN'
mount -t debugfs debugfs /sys/kernel/debug
kprobes=/sys/kernel/debug/kprobes/enabled
echo 0 >$kprobes
check "without kprobes the module is not loaded" not insmod /heapstress.ko
check "... which the kernel's log says" sh -c "dmesg | grep -q 'kprobes are switched off'"
check "... and there is no file" not [ -e $f ]
check "... so the next source is used" source_is $next
echo 1 >$kprobes
insmod /heapstress.ko
/pageknode --no-supervisor &
node=$!
until_true [ -S /tmp/run/pagek/node ]
check "with kprobes the file is the source" source_is file unix:/tmp/run/pagek/node
echo 0 >$kprobes
check "kprobes are switched off: the file has no numbers" not cat $f
check "... and a node's next source is used" source_is $next unix:/tmp/run/pagek/node
check "... with the reason" grep -q 'cannot read /proc/allocinfo: No data' /tmp/next
echo 1 >$kprobes
check "kprobes are on again: the file has numbers" grep -qE '^([0-9]+ ){5}[0-9]+$' $f
kill $node
wait $node
rmmod heapstress
RUN
}

# For a kernel without the function that the module follows.  Its file has this name
# beside the patch.
symbols_part() {
	cat <<'RUN'
check "without the slow path's symbol the module is not loaded" not insmod /heapstress.ko
check "... which the kernel's log says" \
    sh -c "dmesg | grep -q 'lets nobody probe __alloc_pages_slowpath (-2)'"
check "... and there is no file" not [ -e /proc/heapstress ]
RUN
}

# This part is the last one: a lockdown lasts until the guest ends.
lockdown_part() {
	cat <<'RUN'
mount -t securityfs securityfs /sys/kernel/security
echo integrity >/sys/kernel/security/lockdown
check "a lockdown refuses the module" not insmod /heapstress.ko
check "... which the kernel's log says" sh -c "dmesg | grep -i lockdown | grep -q module"
check "... so the next source is used" source_is $next
RUN
}

# The cost of a page fault, without and with the module.
module_cost_part() {
	cat <<'RUN'
/kstress - cost >/tmp/without
insmod /heapstress.ko
/kstress - cost >/tmp/with
# more LEAST MOST PATH: instructions that the module adds.
more() {
	awk -v least=$1 -v most=$2 -v path=$3 '$1 == path { n = $2 - n }
	    END { print "# " path " path: " n " more"; exit !(least <= n && n <= most) }' \
	    /tmp/without /tmp/with
}
check "the module adds at most 45 instructions to a request" more 1 45 fast
check "... and at most 900 above level 1" more 1 900 slow
RUN
}

log_part() {
	cat <<'RUN'
check "the kernel complains of nothing" \
    not sh -c "dmesg | grep -v Tainted: | grep -iE 'warn|bug:|oops'"
RUN
}

# --- a kernel that Debian ships ----------------------------------------------------------------

stock_guest() {
	name=$1
	shift
	levels=
	[ ! -x "$B/pagek-levels" ] || levels=ebpf
	heapstress_script file levels module_pages $levels charge reload "$@" log \
	    >"$tmp/$name.run"
	guest "$name" $(programs)
	rule "$name: all six levels were tried, and their sum" all_levels "$name"
	if grep -q 'pagek-levels: Connection timed out' "$tmp/$name"; then
		skip "this machine is too slow to load the programs of eBPF in a guest"
	elif [ -n "$levels" ]; then
		rule "$name: pagek stress by eBPF agrees with the module, as far as it can" \
		    ebpf_agrees "$tmp/$name"
	else
		skip "no eBPF: clang or libbpf-dev were not there"
	fi
}

all_levels() {
	for level in 1 2 3 4 5 6; do
		grep -qx "level $level moved" "$tmp/$1.said" || return 1
	done
	grep -q 'levels 1 to 5 are numa_hit' "$tmp/$1.said"
}

# eBPF judges a request by the free pages at its end.  It does not see that a request
# waited while another one called the OOM killer, and counts level 4.
ebpf_agrees() {
	python3 - "$1" <<'E'
import json, sys
lines = open(sys.argv[1], errors="replace").read().splitlines()
seen = json.loads([l for l in lines if l.startswith("ebpf: ")][-1][6:])
at = max(i for i, l in enumerate(lines) if l.startswith("== all "))
true = [int(n) for n in lines[at + 1].split()[1:7]]
ours = [seen["level_%d" % n] for n in range(1, 7)]
print("the module", true, "eBPF", ours, seen["why"])
assert seen["source"] == "ebpf" and seen["missed"] == 0
assert ours[5] == true[5] and seen["exactness_6"] == "exact"
assert abs(sum(ours[3:5]) - sum(true[3:5])) <= max(3, true[3] // 10)
assert abs(ours[1] - true[1]) <= true[1] // 3
assert abs(sum(ours[:5]) - sum(true[:5])) <= sum(true[:5]) // 20
assert 0 < ours[4] <= true[4]
E
}
