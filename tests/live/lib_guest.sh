# Sourced by tests that boot a guest, after lib.sh.
#
# has_kernel KIND RELEASE ARGUMENT...	gets a kernel by tests/vm/kernel and sets $version,
#					$root and $headers; without one, skips or makes
#					a rule that fails.
# script PART...			prints a guest's script: the output of the shell
#					functions PART_part.
# guest NAME FILE...			boots that kernel with the script $tmp/NAME.run,
#					these files and those in $tmp/files; makes a rule
#					of each sentence that the guest prints.  Its
#					output is in $tmp/NAME.
# programs FILE...			prints the paths of pagek's programs, of these
#					files and of the libraries of all of them.

vm=$top/tests/vm
mkdir "$tmp/files"

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

script() {
	cat <<-'RUN'
		. /functions
		export HOME=/tmp XDG_RUNTIME_DIR=/tmp/run
		mkdir -p -m 700 /tmp/run
		dmesg -c >/tmp/boot		# what qemu's machine is like
	RUN
	for part; do
		"${part}_part"
	done
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
	for file in "$tmp/files"/*; do
		[ ! -e "$file" ] || set -- "$@" "$file"
	done
	truncate -s 1100M "$tmp/disk" &&
	    "$vm/initramfs" "$tmp/initramfs" "$tmp/$name.run" "$@" $(drivers) &&
	    "$vm/boot" "$root/boot/vmlinuz-$version" "$tmp/initramfs" "$tmp/disk" \
		>"$tmp/$name.raw" 2>&1 </dev/null
	tr -d '\r' <"$tmp/$name.raw" >"$tmp/$name"
	grep -v '^data: ' "$tmp/$name" | tail -n 20
	grep -q '^# end' "$tmp/$name"
}

said() {
	grep -qx "ok: $2" "$tmp/$1" || {
		grep -v '^data: ' "$tmp/$1"
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

programs() {
	set -- "$B/pagek" "$B/pageknode" "$@"
	[ ! -x "$B/pagek-levels" ] || set -- "$@" "$B/pagek-levels"
	printf '%s\n' "$@"
	ldd "$@" | awk '/=> \//{ print $3 } /^\t\/.*\/ld-/{ print $1 }' | sort -u
}
