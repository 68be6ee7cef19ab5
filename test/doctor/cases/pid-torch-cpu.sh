# A process with a PyTorch that was built without CUDA.
torch=/opt/site-packages/torch
put "$made/text-code.so" $torch/lib/libtorch_cpu.so
waiter GANGWAY_DEVICE=null -- "$made/waiter" open "$root$torch/lib/libtorch_cpu.so"
doctor -- --pid $waiting
