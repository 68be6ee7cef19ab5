# A Go program that does not load our library: --follow-all may reach its children.
command -v objcopy >/dev/null || skip "no objcopy"
echo go >"$dir/section"
objcopy --add-section .go.buildinfo="$dir/section" "$made/waiter" "$dir/tool" || fail "objcopy"
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$dir/tool" quiet 'two words' </dev/null
