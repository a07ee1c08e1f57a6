#!/bin/sh
# A hundred boots of the kernel that Debian ships: in each of them the module of
# contrib/heapstress is loaded, counts a load, and is unloaded.  BOOTS is another
# number.
set -u
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_guest.sh"
. "$(dirname "$0")/lib_heapstress.sh"
boots=${BOOTS:-100}

quick_part() {
	cat <<'RUN'
insmod /heapstress.ko
/kstress - quick
check "no request was missed" [ "$(cat $param/missed)" = 0 ]
check "the module is unloaded" rmmod heapstress
RUN
}

# Boots until one boot fails, and prints the output of that one.
all_boots() {
	i=0
	while [ $i -lt "$boots" ]; do
		i=$((i + 1))
		boots quick >/dev/null && ! grep -q '^FAIL: ' "$tmp/quick" &&
		    [ "$(grep -c '^ok: ' "$tmp/quick")" -ge 12 ] || {
			cat "$tmp/quick"
			echo "boot $i"
			return 1
		}
		echo $i >"$tmp/held"
	done
}

if has_kernel stock 6.1; then
	rule "the module builds with the headers of $version" build_module
	rule "kstress builds" build_kstress
	heapstress_script quick log >"$tmp/quick.run"
	rule "$boots boots: the module counts, and the guest comes to its end" all_boots
	echo "$(cat "$tmp/held") of $boots boots held"
fi
say_result
