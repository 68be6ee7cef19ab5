# A static program.
machine
put "$made/static" /opt/app/tool
look -- /opt/app/tool
