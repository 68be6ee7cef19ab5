# A PyTorch that was built without CUDA.
torch=/opt/site-packages/torch
put "$made/text-code.so" $torch/lib/libtorch_cpu.so
text $torch/version.py "__version__ = '2.5.1+cpu'" 'cuda: Optional[str] = None'
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$made/waiter" open "$root$torch/lib/libtorch_cpu.so" </dev/null
