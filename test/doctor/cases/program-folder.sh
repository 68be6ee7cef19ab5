# A folder.
doctor GANGWAY_DEVICE=null -- -- "$dir"
