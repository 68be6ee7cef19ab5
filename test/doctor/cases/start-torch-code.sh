# A wheel with machine code only, on the CPU device: its user cannot rebuild it.
put "$made/machine-code.so" /opt/site-packages/torch/lib/libtorch_cuda.so
put "$here/../fuzz/corpus/image/sm_90.cubin" /opt/sm_90.cubin
doctor GANGWAY_DEVICE=cpu -- --seconds 60 -- "$made/waiter" load "$root/opt/sm_90.cubin" \
	"$root/opt/site-packages/torch/lib/libtorch_cuda.so" </dev/null
