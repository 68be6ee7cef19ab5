# A program brings a libcudart whose names carry another version node than it asks for.
machine
program runtime /opt/app/tool
put "$made/cudart12-node.so" /opt/app/lib/libcudart.so.12
look -- /opt/app/tool
