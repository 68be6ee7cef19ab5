# A program made by Go that is not seen to reach ours: its children may, with --follow-all.
command -v objcopy >/dev/null || skip "no objcopy"
echo go >"$dir/section"
objcopy --add-section .go.buildinfo="$dir/section" "$made/waiter" "$dir/tool" || fail "objcopy"
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$dir/tool" quiet 'two words' </dev/null
