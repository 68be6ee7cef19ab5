# A program of the user with machine code only, on the CPU device.
put "$here/../fuzz/corpus/image/sm_90.cubin" /opt/sm_90.cubin
doctor GANGWAY_DEVICE=cpu -- --seconds 60 -- "$made/waiter" load "$root/opt/sm_90.cubin" </dev/null
