#!/bin/sh
# gangway install --system and uninstall, in trees that hold a vendor's driver, links, and what other people
# wrote: system.sh STAGE PROGRAMS, an installation and what test/redirect/build.sh makes.
stage=$1
programs=$2
PATH=$PATH:/sbin:/usr/sbin
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
umask 022
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

# What the command and the loader look at, and not the rest, which is large.
slim=$work/slim
mkdir -p "$slim/bin" "$slim/lib/gangway/stubs"
cp -a "$stage/bin/gangway" "$slim/bin/"
cp -a "$stage"/lib/gangway/libcuda.so* "$stage"/lib/gangway/libnvidia-ml.so* "$stage"/lib/gangway/libgangway-audit.so "$slim/lib/gangway/"
cp -a "$stage"/lib/gangway/stubs/libcuda.so* "$slim/lib/gangway/stubs/"
cp -a "$stage/lib/systemd" "$stage/lib/sysusers.d" "$slim/lib/"
echo 'int nvmlInit_v2(void) { return 4711; }' >"$work/nvml.c"
${CC:-cc} -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o "$work/libnvidia-ml.so.1" "$work/nvml.c" || exit 1

# A small system with a vendor's driver and its links, in $root; Gangway in $1 of it.
new() { # prefix, extra: cache or bare
	rm -rf "$work/root"
	root=$work/root
	lib=$root/usr/lib/x86_64-linux-gnu
	mkdir -p "$root/etc/ld.so.conf.d" "$lib" "$root/var/lib" "$root/var/cache" "$root/usr/lib/systemd/system" "$root$1"
	echo 'include /etc/ld.so.conf.d/*.conf' >"$root/etc/ld.so.conf"
	echo /usr/lib/x86_64-linux-gnu >"$root/etc/ld.so.conf.d/x86_64-linux-gnu.conf"
	cp "$programs/decoy/libcuda.so.1" "$lib/libcuda.so.535.54.03"
	cp "$programs/decoy/libcuda.so.1" "$lib/libcuda.so.470.42.01"
	ln -s libcuda.so.470.42.01 "$lib/libcuda.so.1" # not the latest: ldconfig would like to change that
	ln -s libcuda.so.1 "$lib/libcuda.so"
	cp "$work/libnvidia-ml.so.1" "$lib/"
	mkdir -p "$root/opt/app"
	ln -s /usr/lib/x86_64-linux-gnu/libcuda.so.1 "$root/opt/app/libcuda.so.1"
	cp -a "$work/slim/." "$root$1/"
	gangway=$root$1/bin/gangway
	[ "$2" = bare ] || ldconfig -X -r "$root" 2>/dev/null || { echo "skipped: ldconfig -r needs root"; exit 77; }
	snapshot >"$work/before"
}
# Everything there is: kind, mode, owner, link, content; but for ldconfig's notes to itself, in
# the order of what it saw when.
snapshot() {
	(cd "$root" && find . -name aux-cache -printf '%p %y %m %U:%G\n' -o \( -type f -printf '%p %y %m %U:%G ' -exec sha1sum {} \; \) -o -printf '%p %y %m %U:%G %l\n' | sed 's/  .*//' | sort)
}
unchanged() { # when
	snapshot | diff "$work/before" - >"$work/diff" || { fail "$1: the tree is another"; cat "$work/diff"; }
}
does() { # status, words it says, arguments
	status=$1
	words=$2
	shift 2
	"$gangway" "$@" >"$work/out" 2>&1
	got=$?
	[ "$got" = "$status" ] || { fail "gangway $*: status $got, not $status"; cat "$work/out"; }
	grep -qF -e "$words" "$work/out" || { fail "gangway $*: does not say: $words"; cat "$work/out"; }
}
install() { does "$1" "$2" install --system --root "$root" $3; }
uninstall() { does "$1" "$2" uninstall --root "$root" $3; }
vendor_hashes() { sha1sum "$lib"/*; readlink "$lib/libcuda.so" "$lib/libcuda.so.1" "$root/opt/app/libcuda.so.1"; }

# Installing shows first, then does, then nothing more; the vendor's files stay; uninstalling leaves no trace.
new /usr/local
vendor_hashes >"$work/vendor"
install 0 "Nothing was changed"
unchanged "a dry run"
uninstall 0 "Nothing was installed here" --yes
install 0 "Done." --yes
vendor_hashes | diff "$work/vendor" - || fail "the vendor's files are others"
ldconfig -r "$root" -p | grep -F 'libcuda.so.1 ' | head -n 1 | grep -q /usr/local/lib/gangway/libcuda.so.1 || fail "the loader would not take ours"
ldconfig -r "$root" -p | grep -q /usr/lib/x86_64-linux-gnu/libcuda.so.1 || fail "the vendor's is not in the cache any more"
ldconfig -r "$root" -p | grep -F libnvidia-ml.so.1 | head -n 1 | grep -q gangway || fail "the loader would not take our libnvidia-ml.so.1"
ldconfig -r "$root" -p | grep stubs && fail "stubs are on the run-time path"
[ -e "$root/etc/systemd/system" ] && fail "a unit was copied though systemd has it"
install 0 "there is" --yes
find "$root" -name '.gangway*' | grep . && fail "temporary files are left"
uninstall 0 "Nothing was changed"
[ -e "$root/etc/ld.so.conf.d/000-gangway.conf" ] || fail "a dry run removed something"
uninstall 0 "Done." --yes
unchanged "install and uninstall"

# A program without any environment reaches ours: by the loader's cache alone.  (In a chroot, started by a static
# program or one that makes its own system calls, nothing else could lead it.)
new /usr/local
mkdir -p "$root/lib64" "$root/bin"
cp "$programs/plain/opened" "$programs/plain/linked" "$root/bin/"
ldd "$programs/plain/opened" | grep -o '/[^ ]*' | while read -r file; do
	mkdir -p "$root$(dirname "$file")"
	[ -e "$root$file" ] || cp -L "$file" "$root$file"
done
ldconfig -X -r "$root"
for mode in linked opened; do
	env -i "$(command -v chroot)" "$root" "/bin/$mode" | grep -q 'version 4711' || fail "$mode does not reach the vendor's before"
done
install 0 "Done." --yes
for mode in linked opened; do
	env -i "$(command -v chroot)" "$root" "/bin/$mode" | grep -q 'version 13000' || fail "$mode does not reach ours"
done
uninstall 0 "Done." --yes
env -i "$(command -v chroot)" "$root" /bin/linked | grep -q 'version 4711' || fail "the vendor's is not reached again"

# Elsewhere than systemd looks: the unit and the user come along; Ollama, if it is there, gets its drop-in.
new /opt/gangway
echo '[Service]' >"$root/usr/lib/systemd/system/ollama.service"
snapshot >"$work/before"
install 0 "Ollama" --yes
grep -q '^ExecStart=/opt/gangway/bin/gangway serve ' "$root/etc/systemd/system/gangway.service" || fail "the unit does not start our command"
grep -q '^u gangway' "$root/etc/sysusers.d/gangway.conf" || fail "no user for the service"
grep -qx 'Environment="LD_LIBRARY_PATH=/opt/gangway/lib/gangway"' "$root/etc/systemd/system/ollama.service.d/gangway.conf" ||
	fail "no path for Ollama"
grep -qx 'Environment="LD_AUDIT=/opt/gangway/lib/gangway/libgangway-follow.so:/opt/gangway/lib/gangway/libgangway-audit.so"' "$root/etc/systemd/system/ollama.service.d/gangway.conf" ||
	fail "no drop-in for Ollama"
if command -v systemd-analyze >/dev/null; then
	cat "$root/usr/lib/systemd/system/ollama.service" "$root/etc/systemd/system/ollama.service.d/gangway.conf" >"$work/ollama.service"
	echo 'ExecStart=/bin/true' >>"$work/ollama.service"
	said=$(systemd-analyze verify "$work/ollama.service" 2>&1 | grep ollama)
	[ -z "$said" ] || fail "systemd says of the drop-in: $said"
fi
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../gangway.service "$root/etc/systemd/system/multi-user.target.wants/gangway.service"
uninstall 1 "systemctl disable --now gangway" --yes
rm -r "$root/etc/systemd/system/multi-user.target.wants"
uninstall 0 "Done." --yes
unchanged "with unit, user and drop-in"

# Another version writes another unit over its own; what somebody changed is left, and said.
install 0 "Done." --yes
echo '# of the next version' >>"$root/opt/gangway/lib/systemd/system/gangway.service"
install 0 "replace" --yes
grep -q 'next version' "$root/etc/systemd/system/gangway.service" || fail "the unit was not replaced"
echo '# mine' >>"$root/etc/systemd/system/gangway.service"
snapshot >"$work/changed"
install 1 "is there, and is not what gangway install wrote" --yes
uninstall 1 "CHANGED  /etc/systemd/system/gangway.service" --yes
snapshot | cmp -s "$work/changed" - || fail "a changed unit was touched, or what lies beside it"
sed -i '$d' "$root/etc/systemd/system/gangway.service"
rm "$root/etc/systemd/system/ollama.service.d/gangway.conf" # gone is no hindrance
echo mine >"$root/etc/systemd/system/ollama.service.d/mine.conf"
uninstall 0 "Done." --yes
[ "$(cat "$root/etc/systemd/system/ollama.service.d/mine.conf")" = mine ] || fail "another's drop-in is gone"
rm -r "$root/etc/systemd"
sed -i '$d' "$root/opt/gangway/lib/systemd/system/gangway.service"
unchanged "after a changed unit"

# Where there was no cache there is none afterwards.
new /usr/local bare
install 0 "Done." --yes
[ -e "$root/etc/ld.so.cache" ] || fail "there is no cache"
uninstall 0 "Done." --yes
unchanged "without a cache"

# In the way: files that others wrote, links to them, links to folders.
refuses() { # what is said
	snapshot >"$work/before"
	install 1 "$1" --yes
	unchanged "refused: $1"
	install 1 "$1"
	unchanged "refused, dry: $1"
}
new /usr/local
echo /somewhere >"$root/etc/ld.so.conf.d/000-gangway.conf"
refuses "000-gangway.conf is there, and is not what gangway install wrote"
new /usr/local
ln -s ../../usr/lib/x86_64-linux-gnu/libcuda.so.1 "$root/etc/ld.so.conf.d/000-gangway.conf"
refuses "000-gangway.conf is a symbolic link"
new /usr/local
ln -s /nosuch "$root/etc/ld.so.conf.d/000-gangway.conf"
refuses "000-gangway.conf is a symbolic link"
new /usr/local
mkdir "$root/etc/ld.so.conf.d/000-gangway.conf"
refuses "000-gangway.conf"
new /usr/local
mv "$root/etc/ld.so.conf.d" "$root/etc/elsewhere" && ln -s elsewhere "$root/etc/ld.so.conf.d"
refuses "/etc/ld.so.conf.d is a symbolic link"
new /usr/local
ln -s ../../usr/lib/x86_64-linux-gnu "$root/var/lib/gangway"
refuses "/var/lib/gangway is a symbolic link"
new /usr/local
mkdir "$root/var/lib/gangway" && ln -s ../../../usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03 "$root/var/lib/gangway/installed"
refuses "/var/lib/gangway/installed is a symbolic link"
new /opt/gangway
echo '[Service]' >"$root/usr/lib/systemd/system/ollama.service"
mkdir -p "$root/etc/systemd/system" "$root/srv/units" && ln -s ../../../srv/units "$root/etc/systemd/system/ollama.service.d"
refuses "/etc/systemd/system/ollama.service.d is a symbolic link"
new /opt/gangway
echo >"$root/etc/systemd"
refuses "/etc/systemd"

# Not a place for all programs' libraries.
new /usr/local
chmod 777 "$root/usr/local/lib"
refuses "can be written by others"
new /usr/local
chown 65534 "$root/usr/local/lib/gangway" 2>/dev/null && refuses "can be written by others"
new /usr/local
gangway=$stage/bin/gangway
refuses "there is no $(realpath "$stage")/lib/gangway/libcuda.so.1 in $root"
# But it may be at the same place in there.
new "$(realpath "$stage")"
gangway=$stage/bin/gangway
install 0 "Done." --yes
grep -qx "$(realpath "$stage")/lib/gangway" "$root/etc/ld.so.conf.d/000-gangway.conf" || fail "the path in the snippet is another"
uninstall 0 "Done." --yes
unchanged "an installation at the same place"

# A manifest that somebody else wrote is not followed.
for line in 'file 00 /etc/ld.so.conf' "file $(printf '%064d' 0) /etc/ld.so.conf" 'folder /etc' 'made /etc/ld.so.conf' \
	'folder /usr/lib/x86_64-linux-gnu' 'nonsense' 'made /etc/ld.so.cache/../ld.so.conf' 'folder /'; do
	new /usr/local
	mkdir -p "$root/var/lib/gangway"
	printf 'gangway manifest 1\n%s\n' "$line" >"$root/var/lib/gangway/installed"
	snapshot >"$work/before"
	case $line in
	'folder /etc') uninstall 0 "Done." --yes # a folder of ours may be below it; it is not empty, and stays
		[ -e "$root/etc/ld.so.conf" ] || fail "/etc is gone" ;;
	*) uninstall 1 "is not what gangway install wrote" --yes; unchanged "a manifest with: $line" ;;
	esac
done

# A configuration that does not read the snippet: said.
new /usr/local
echo /usr/lib/x86_64-linux-gnu >"$root/etc/ld.so.conf"
ldconfig -X -r "$root"
snapshot >"$work/before"
install 1 "leads to /usr/lib/x86_64-linux-gnu/libcuda.so.1" --yes
uninstall 0 "Done." --yes
unchanged "a configuration without conf.d"

does 2 "Say --system" install
does 2 "unexpected argument x" install --system x
does 2 "unknown option --z" uninstall --z
does 1 "No such file" uninstall --root "$work/nosuch"
does 1 "No such file" install --system --root "$work/nosuch"
exit $failed
