# A program that does not end by itself.
doctor GANGWAY_DEVICE=null -- --seconds 5 -- sleep 60 </dev/null
