# The program's runtime is not on the search path, although a toolkit is installed.
machine
program runtime /opt/app/tool
put "$made/cudart12.so" /usr/local/cuda/lib64/libcudart.so.12
look -- /opt/app/tool
