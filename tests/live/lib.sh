# Sourced by the live tests: real programs, real terminals, real processes.
#
# rule "sentence" command...	runs the command; its status decides.
# until_true SECONDS command...	polls; the seconds are a hang limit only.
# say_result			last line; exit status 1 when a rule failed.

B=$(cd "${B:-build}" && pwd) || exit 1
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pagek-test.XXXXXX") || exit 1
# A folder of our own for sockets, so that a developer's nodes are not met.
XDG_RUNTIME_DIR=$tmp/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
export XDG_RUNTIME_DIR
passed=0
failed=0
trap 'rm -rf "$tmp"' EXIT

rule() {
	sentence=$1
	shift
	if "$@" >"$tmp/rule.out" 2>&1; then
		passed=$((passed + 1))
		echo "ok - $sentence"
	else
		failed=$((failed + 1))
		echo "not ok - $sentence"
		sed 's/^/    /' "$tmp/rule.out" | tail -n 20
	fi
}

until_true() {
	polls=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		polls=$((polls - 1))
		[ "$polls" -gt 0 ] || return 1
		sleep 0.05
	done
}

say_result() {
	echo "$(basename "$0" .sh): $passed passed, $failed failed"
	[ "$failed" = 0 ]
}
