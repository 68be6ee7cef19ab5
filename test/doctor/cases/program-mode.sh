# A program that is not executable, for example from a zip file.
cp "$made/waiter" "$dir/two words"
chmod 644 "$dir/two words"
doctor GANGWAY_DEVICE=null -- -- "$dir/two words"
