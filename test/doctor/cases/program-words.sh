# A program and its arguments in one word.
doctor GANGWAY_DEVICE=null -- 'ls -l'
