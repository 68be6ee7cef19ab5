# Completion for gangway(1). The completions come from --help of the command and of each subcommand.

_gangway_options() {
	"$1" "$2" --help 2>/dev/null | grep -oE '(^|[ [|])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+'
}

_gangway() {
	local command=${COMP_WORDS[1]} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "$("$1" --help 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p')" -- "$cur"))
		return
	fi
	# All words after the program that a subcommand starts belong to that program.
	if [ "$command" = run ] || [ "$command" = doctor ]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--on | --pid | --root | --seconds) ((i++)) ;;
			--) ((i++)); break ;;
			-*) ;;
			*) break ;;
			esac
		done
		if [ "$i" -lt "$COMP_CWORD" ]; then
			declare -F _command_offset >/dev/null && _command_offset "$i" || COMPREPLY=($(compgen -f -- "$cur"))
			return
		fi
		case $cur$prev in
		-* | *--on | *--pid | *--root | *--seconds) ;;
		*) COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur")); return ;;
		esac
	fi
	case $prev in
	--on) COMPREPLY=($(compgen -W "nvidia cpu null unix: tcp://" -- "$cur")) ;;
	--pid) COMPREPLY=($(compgen -W "$(ls /proc | grep '^[0-9]')" -- "$cur")) ;;
	--root | --library-path) COMPREPLY=($(compgen -d -- "$cur")) ;;
	--output | --filename) COMPREPLY=($(compgen -f -- "$cur")) ;;
	--group) COMPREPLY=($(compgen -g -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "$(_gangway_options "$1" "$command")" -- "$cur")) ;;
	esac
}

complete -o default -F _gangway gangway
