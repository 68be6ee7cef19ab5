# A program ends with an error of its own.
doctor GANGWAY_DEVICE=null -- -- "$made/waiter" 3 </dev/null
