# A missing program.
machine
look -- /opt/app/tool
