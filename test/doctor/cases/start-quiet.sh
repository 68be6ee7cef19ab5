# A program that does not request libcuda.so.1.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$made/waiter" quiet </dev/null
