# A CUDA shim of another project in LD_PRELOAD.
machine
put "$made/vendor-cuda.so" /opt/vgpu/libvgpu.so
look LD_PRELOAD=/opt/vgpu/libvgpu.so --
