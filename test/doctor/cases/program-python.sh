# A Python script without a #! line.
echo 'print(1)' >"$dir/script.py"
doctor GANGWAY_DEVICE=null -- --no-start -- "$dir/script.py"
