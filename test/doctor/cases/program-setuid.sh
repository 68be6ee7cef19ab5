# A set-uid program: the loader heeds no environment.
machine
program direct /opt/app/tool
chmod 4755 "$root/opt/app/tool"
look -- /opt/app/tool
