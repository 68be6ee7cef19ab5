# A program that dies of a signal.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- sh -c 'kill -SEGV $$' </dev/null
