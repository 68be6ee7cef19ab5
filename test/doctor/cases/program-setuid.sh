# A set-uid program, for which the loader ignores the environment.
machine
program direct /opt/app/tool
chmod 4755 "$root/opt/app/tool"
look -- /opt/app/tool
