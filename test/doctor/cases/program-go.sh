# A Go program, whose children may get a new environment.
command -v objcopy >/dev/null || skip "no objcopy"
machine
program direct /opt/app/tool
echo go >"$dir/section"
objcopy --add-section .go.buildinfo="$dir/section" "$root/opt/app/tool" || fail "objcopy"
look GANGWAY_DEVICE=null -- /opt/app/tool
