# A program without a loader.
machine
put "$made/static" /opt/app/tool
look -- /opt/app/tool
