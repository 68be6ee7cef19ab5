# A program is started, reaches ours and ends well.
doctor GANGWAY_DEVICE=null -- -- "$made/waiter" 0 </dev/null
