# A program for another processor.
machine
mkdir -p "$root/opt/app"
{
	printf '\177ELF\002\001\001'
	head -c 9 /dev/zero
	printf '\002\000\267\000'
	head -c 100 /dev/zero
} >"$root/opt/app/tool"
look -- /opt/app/tool
