# A Go program without the C library.
command -v objcopy >/dev/null || skip "no objcopy"
machine
program static /opt/app/tool
echo go >"$dir/section"
objcopy --add-section .go.buildinfo="$dir/section" "$root/opt/app/tool" || fail "objcopy"
look GANGWAY_DEVICE=null -- /opt/app/tool
