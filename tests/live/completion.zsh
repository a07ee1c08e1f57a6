# completion.zsh SCRIPT LINE...: what a real zsh completes each line to.
#
# The shell inside runs on a terminal of its own (zpty) with its completion
# system; the builtin that takes the matches is asked for those that it takes,
# which are written to a file in place of a choice.
zmodload zsh/zpty
script=$1
shift
out=$(mktemp) || exit 1
zpty shell zsh -f -i
zpty -w shell "PROMPT= TERM=dumb; stty -echo; unsetopt zle_bracketed_paste"
zpty -w shell "autoload -Uz compinit && compinit -D -u; . '$script'"
zpty -w shell 'compadd() {
	local -a hits
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	builtin compadd -A hits "$@"
	print -r -- $hits >>'$out'
	builtin compadd "$@"
}'
zpty -w shell 'all() {
	: >'$out'
	zle list-choices
	print -r -- . >>'$out'
	BUFFER=
}; zle -N all; bindkey "^X" all; print -r -- . >'$out
await() {
	integer i
	local shown
	for ((i = 0; i < 400; i++)); do
		# What it lists has to be read, or it stops.
		while zpty -r -t shell shown; do :; done
		[[ $(tail -n 1 $out) == . ]] && return
		sleep 0.05
	done
	print "zsh does not answer" >&2
	exit 1
}
await
for line in "$@"; do
	: >$out
	zpty -w -n shell "$line"$'\x18'
	await
	print -r -- $(grep -vx '\.' $out)
done
zpty -d shell
rm -f $out
