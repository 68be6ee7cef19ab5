# A 32-bit program.
machine
mkdir -p "$root/opt/app"
{
	printf '\177ELF\001\001\001'
	head -c 9 /dev/zero
	printf '\002\000\003\000'
	head -c 100 /dev/zero
} >"$root/opt/app/tool"
look -- /opt/app/tool
