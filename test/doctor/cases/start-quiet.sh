# A program that never asks for libcuda.so.1.
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$made/waiter" quiet </dev/null
