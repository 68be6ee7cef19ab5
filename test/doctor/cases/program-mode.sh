# A program that came without its x: through a zip file, say.
cp "$made/waiter" "$dir/two words"
chmod 644 "$dir/two words"
doctor GANGWAY_DEVICE=null -- -- "$dir/two words"
