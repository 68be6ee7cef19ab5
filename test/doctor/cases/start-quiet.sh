# A program that never asks for libcuda.so.1.
doctor GANGWAY_DEVICE=null -- -- "$made/waiter" quiet </dev/null
