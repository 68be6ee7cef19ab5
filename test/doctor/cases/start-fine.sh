# A program is started, reaches ours and ends well.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$made/waiter" 0 </dev/null
