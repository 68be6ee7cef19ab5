# A program bundles a libcudart without the version node that it needs.
machine
program runtime /opt/app/tool
put "$made/cudart12-node.so" /opt/app/lib/libcudart.so.12
look -- /opt/app/tool
