#!/bin/bash
# Check that bash completes subcommands, their options, devices and programs: completion.sh GANGWAY
gangway=$1
. "$(dirname "$0")/../../packaging/gangway.bash" || exit 1
failed=0

# offers WORD... : WANTED...: when the last WORD is incomplete, each WANTED is among the completions
offers() {
	local words=("$gangway") want
	while [ "$1" != : ]; do
		words+=("$1")
		shift
	done
	shift
	COMP_WORDS=("${words[@]}")
	COMP_CWORD=$((${#words[@]} - 1))
	_gangway "$gangway"
	for want in "$@"; do
		[[ " ${COMPREPLY[*]} " == *" $want "* ]] && continue
		echo "FAIL: ${words[*]:1} offers '${COMPREPLY[*]}', not $want"
		failed=1
	done
}

offers '' : $("$gangway" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
offers ru : run
offers run --o : --on
offers run --f : --follow-all
offers run --on '' : cpu nvidia null
offers run --on cpu tru : true
offers run --on cpu -- "$0" "$(dirname "$0")/man" : "$(dirname "$0")/man.sh"
offers serve --l : --listen
offers config --ld : --ldflags
exit $failed
