# A program is started on a device that is not there: no server listens at the address.
doctor GANGWAY_DEVICE=tcp://127.0.0.1:1 -- --seconds 60 -- "$made/waiter" 0 </dev/null
