# Another shim in LD_PRELOAD, as recipes of others ask for.
machine
put "$made/vendor-cuda.so" /opt/vgpu/libvgpu.so
look LD_PRELOAD=/opt/vgpu/libvgpu.so --
