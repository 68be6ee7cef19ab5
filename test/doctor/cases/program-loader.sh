# A program of another distribution: what would start it is not here.
machine
put "$made/direct" /opt/app/tool
look -- /opt/app/tool
