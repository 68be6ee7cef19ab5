# A set-uid program with arguments; neither gangway nor sudo is on PATH, and the printed command works.
[ "$(id -u)" = 0 ] || skip "not root"
cp "$made/waiter" "$dir/tool"
chown 65534 "$dir/tool" && chmod 4755 "$dir/tool" || skip "cannot create a set-uid program"
doctor GANGWAY_DEVICE=null PATH=/nowhere -- --no-start -- "$dir/tool" quiet 'two words'
