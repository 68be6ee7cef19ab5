# A folder instead of a program.
doctor GANGWAY_DEVICE=null -- -- "$dir"
