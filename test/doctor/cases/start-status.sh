# A program ends with an error of its own.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$made/waiter" 3 </dev/null
