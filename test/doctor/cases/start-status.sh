# A program that fails by itself.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$made/waiter" 3 </dev/null
