# The GPU is bound to nouveau.
machine
gpu nouveau
look --
