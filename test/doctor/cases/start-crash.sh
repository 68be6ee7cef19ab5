# A program killed by a signal.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- sh -c 'kill -SEGV $$' </dev/null
