# Sourced by the tests of contrib/heapstress, after lib.sh.
#
# has_kernel KIND RELEASE ARGUMENT...	gets a kernel by tests/vm/kernel and sets $version,
#					$root and $headers; without one, skips or makes
#					a rule that fails.
# build_module, build_kstress		make $tmp/module/heapstress.ko, $tmp/kstress.
# script PART...			prints a guest's script of these parts (see below).
# guest NAME FILE...			boots that kernel with the script $tmp/NAME.run,
#					these files, the module and pagek; makes a rule
#					of each sentence that the guest prints.  Its
#					output is in $tmp/NAME.
# stock_guest NAME PART...		tests a kernel that Debian ships, with these parts.

heapstress=$top/contrib/heapstress
vm=$top/tests/vm

has_kernel() {
	kernel=$(B="$B" "$vm/kernel" "$@" 2>"$tmp/why")
	case $? in
	0)
		version=${kernel%% *}
		headers=${kernel##* }
		root=${kernel#* }
		root=${root% *}
		;;
	77)
		skip "$(tail -n 1 "$tmp/why")"
		return 1
		;;
	*)
		rule "a kernel: $*" sh -c 'cat "$0"; false' "$tmp/why"
		return 1
		;;
	esac
}

# No BTF for the module: it needs pahole, and the test does not use it.
build_module() {
	rm -rf "$tmp/module"
	cp -r "$heapstress/module" "$tmp/module" &&
	    make -s -C "$tmp/module" KDIR="$headers" CC=gcc \
		CONFIG_DEBUG_INFO_BTF_MODULES= "$@"
}

build_kstress() {
	gcc -O2 -Wall -Wextra -Werror -static -o "$tmp/kstress" \
	    "$heapstress/test/kstress.c"
}

# Prints the drivers of the disk that are modules.
drivers() {
	for module in virtio virtio_ring virtio_pci virtio_pci_legacy_dev \
	    virtio_pci_modern_dev virtio_blk; do
		for at in "$root/lib/modules/$version/kernel/drivers"/*/$module.ko* \
		    "$root/usr/lib/modules/$version/kernel/drivers"/*/$module.ko*; do
			case $at in
			*.xz)
				xz -dc "$at" >"$tmp/$module.ko"
				echo "$tmp/$module.ko"
				;;
			*.ko) echo "$at" ;;
			esac
		done
	done
}

boots() {
	name=$1
	shift
	for file in kstress module/heapstress.ko; do
		[ ! -e "$tmp/$file" ] || set -- "$@" "$tmp/$file"
	done
	truncate -s 1100M "$tmp/disk" &&
	    "$vm/initramfs" "$tmp/initramfs" "$tmp/$name.run" "$@" $(drivers) &&
	    "$vm/boot" "$root/boot/vmlinuz-$version" "$tmp/initramfs" "$tmp/disk" \
		>"$tmp/$name.raw" 2>&1 </dev/null
	tr -d '\r' <"$tmp/$name.raw" >"$tmp/$name"
	tail -n 20 "$tmp/$name"
	grep -q '^# end' "$tmp/$name"
}

said() {
	grep -qx "ok: $2" "$tmp/$1" || {
		cat "$tmp/$1"
		return 1
	}
}

# A guest that hung has printed fewer sentences than its script has checks.
guest() {
	name=$1
	shift
	rule "$name: the guest comes to its end" boots "$name" "$@"
	grep -E '^(ok|FAIL): ' "$tmp/$name" | sed 's/^[^:]*: //' >"$tmp/$name.said"
	while read -r sentence; do
		rule "$name: $sentence" said "$name" "$sentence"
	done <"$tmp/$name.said"
	rule "$name: each check of the guest was made" \
	    [ "$(wc -l <"$tmp/$name.said")" -ge "$(grep -c '^check ' "$tmp/$name.run")" ]
}

# Prints the paths of pagek's programs and their libraries.
programs() {
	set -- "$B/pagek" "$B/pageknode"
	[ ! -x "$B/pagek-levels" ] || set -- "$@" "$B/pagek-levels"
	printf '%s\n' "$@"
	ldd "$@" | awk '/=> \//{ print $3 } /^\t\/.*\/ld-/{ print $1 }' | sort -u
}

# --- parts of scripts --------------------------------------------------------------------------

# script PART...
script() {
	cat <<-'RUN'
		. /functions
		f=/proc/allocinfo
		param=/sys/module/heapstress/parameters
		HOME=/tmp
		XDG_RUNTIME_DIR=/tmp/run
		export HOME XDG_RUNTIME_DIR
		mkdir -p -m 700 /tmp/run
		dmesg -c >/tmp/boot		# what qemu's machine is like
	RUN
	for part; do
		"${part}_part"
	done
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
check "page S notices another reader" until_true steal
end_pages
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

# Kprobes are switched off before the module is loaded, then while it counts.
kprobes_part() {
	cat <<'RUN'
mount -t debugfs debugfs /sys/kernel/debug
kprobes=/sys/kernel/debug/kprobes/enabled
# source_is SOURCE [NODE]: the last line that pagek prints has this source.
source_is() {
	/pagek stress --interval 0.5 --count 3 --format ndjson $2 >/tmp/next
	tail -n 1 /tmp/next | grep -q "\"source\": *\"$1\""
}
# On a slow machine, loading the eBPF programs takes too long.
rm -f /pagek-levels
next=events
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
	script file levels module_pages reload "$@" log >"$tmp/$name.run"
	guest "$name" $(programs)
	rule "$name: all six levels were tried, and their sum" all_levels "$name"
	if [ -x "$B/pagek-levels" ]; then
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
