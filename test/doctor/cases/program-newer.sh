# A program linked with a newer driver than ours.
machine
program newer /opt/app/tool
look -- /opt/app/tool
