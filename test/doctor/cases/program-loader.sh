# A program whose loader does not exist here.
machine
put "$made/direct" /opt/app/tool
look -- /opt/app/tool
