# A program that loads our library and succeeds.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$made/waiter" 0 </dev/null
