# A program that dies of a signal.
doctor GANGWAY_DEVICE=null -- -- sh -c 'kill -SEGV $$' </dev/null
