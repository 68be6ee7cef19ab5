# A program started on a server that does not listen.
doctor GANGWAY_DEVICE=tcp://127.0.0.1:1 -- --seconds 60 -- "$made/waiter" 0 </dev/null
