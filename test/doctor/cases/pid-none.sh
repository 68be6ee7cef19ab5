# A process that does not exist: an invalid argument.
doctor -- --pid 999999999
