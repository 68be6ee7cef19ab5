# A program that was linked with a driver newer than ours.
machine
program newer /opt/app/tool
look -- /opt/app/tool
