# There is no such program.
machine
look -- /opt/app/tool
