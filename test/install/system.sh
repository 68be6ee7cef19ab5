#!/bin/sh
# Check gangway install --system and uninstall in trees with a vendor driver, links and files of others:
# system.sh STAGE PROGRAMS (an installation, and the output of test/redirect/build.sh)
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

# Copy only the files that the command and the loader need.
slim=$work/slim
mkdir -p "$slim/bin" "$slim/lib/gangway/stubs"
cp -a "$stage/bin/gangway" "$slim/bin/"
cp -a "$stage"/lib/gangway/libcuda.so* "$stage"/lib/gangway/libnvidia-ml.so* "$stage"/lib/gangway/libgangway-audit.so "$slim/lib/gangway/"
cp -a "$stage"/lib/gangway/stubs/libcuda.so* "$slim/lib/gangway/stubs/"
cp -a "$stage/lib/systemd" "$stage/lib/sysusers.d" "$slim/lib/"
echo 'int nvmlInit_v2(void) { return 4711; }' >"$work/nvml.c"
${CC:-cc} -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o "$work/libnvidia-ml.so.1" "$work/nvml.c" || exit 1

# Create a small system in $root with a vendor driver and its links, and Gangway in $1 of it.
new() { # prefix, extra: cache or bare
	rm -rf "$work/root"
	root=$work/root
	lib=$root/usr/lib/x86_64-linux-gnu
	mkdir -p "$root/etc/ld.so.conf.d" "$lib" "$root/var/lib" "$root/var/cache" "$root/usr/lib/systemd/system" "$root$1"
	echo 'include /etc/ld.so.conf.d/*.conf' >"$root/etc/ld.so.conf"
	echo /usr/lib/x86_64-linux-gnu >"$root/etc/ld.so.conf.d/x86_64-linux-gnu.conf"
	cp "$programs/decoy/libcuda.so.1" "$lib/libcuda.so.535.54.03"
	cp "$programs/decoy/libcuda.so.1" "$lib/libcuda.so.470.42.01"
	ln -s libcuda.so.470.42.01 "$lib/libcuda.so.1" # not the latest version: ldconfig without -X would change it
	ln -s libcuda.so.1 "$lib/libcuda.so"
	cp "$work/libnvidia-ml.so.1" "$lib/"
	mkdir -p "$root/opt/app"
	ln -s /usr/lib/x86_64-linux-gnu/libcuda.so.1 "$root/opt/app/libcuda.so.1"
	cp -a "$work/slim/." "$root$1/"
	gangway=$root$1/bin/gangway
	[ "$2" = bare ] || ldconfig -X -r "$root" 2>/dev/null || { echo "skipped: ldconfig -r needs root"; exit 77; }
	snapshot >"$work/before"
}
# List type, mode, owner, link and content of everything. The content of aux-cache depends on the order of changes and
# is left out.
snapshot() {
	(cd "$root" && find . -name aux-cache -printf '%p %y %m %U:%G\n' -o \( -type f -printf '%p %y %m %U:%G ' -exec sha1sum {} \; \) -o -printf '%p %y %m %U:%G %l\n' | sed 's/  .*//' | sort)
}
unchanged() { # moment
	snapshot | diff "$work/before" - >"$work/diff" || { fail "$1: the tree has changed"; cat "$work/diff"; }
}
does() { # expected status, part of the output, arguments
	status=$1
	words=$2
	shift 2
	"$gangway" "$@" >"$work/out" 2>&1
	got=$?
	[ "$got" = "$status" ] || { fail "gangway $*: status $got, expected $status"; cat "$work/out"; }
	grep -qF -e "$words" "$work/out" || { fail "gangway $*: the output lacks: $words"; cat "$work/out"; }
}
install() { does "$1" "$2" install --system --root "$root" $3; }
uninstall() { does "$1" "$2" uninstall --root "$root" $3; }
vendor_hashes() { sha1sum "$lib"/*; readlink "$lib/libcuda.so" "$lib/libcuda.so.1" "$root/opt/app/libcuda.so.1"; }

# A dry run only prints; --yes installs; a second run changes nothing; uninstall restores the tree. Vendor files stay.
new /usr/local
vendor_hashes >"$work/vendor"
install 0 "Nothing was changed"
unchanged "a dry run"
uninstall 0 "gangway install has not been used here" --yes
install 0 "Done." --yes
vendor_hashes | diff "$work/vendor" - || fail "the vendor's files have changed"
ldconfig -r "$root" -p | grep -F 'libcuda.so.1 ' | head -n 1 | grep -q /usr/local/lib/gangway/libcuda.so.1 || fail "the loader does not find our libcuda.so.1 first"
ldconfig -r "$root" -p | grep -q /usr/lib/x86_64-linux-gnu/libcuda.so.1 || fail "the vendor's libcuda.so.1 is no longer in the cache"
ldconfig -r "$root" -p | grep -F libnvidia-ml.so.1 | head -n 1 | grep -q gangway || fail "the loader does not find our libnvidia-ml.so.1 first"
ldconfig -r "$root" -p | grep stubs && fail "stubs are on the run-time path"
[ -e "$root/etc/systemd/system" ] && fail "the unit was copied although systemd already finds it"
install 0 "there is" --yes
find "$root" -name '.gangway*' | grep . && fail "temporary files remain"
uninstall 0 "Nothing was changed"
[ -e "$root/etc/ld.so.conf.d/000-gangway.conf" ] || fail "a dry run removed something"
uninstall 0 "Done." --yes
unchanged "install and uninstall"

# A program with an empty environment reaches our library through the loader's cache alone. (In a chroot, started by a
# static program or by one that makes its own system calls, no other mechanism works.)
new /usr/local
mkdir -p "$root/lib64" "$root/bin"
cp "$programs/plain/opened" "$programs/plain/linked" "$root/bin/"
ldd "$programs/plain/opened" | grep -o '/[^ ]*' | while read -r file; do
	mkdir -p "$root$(dirname "$file")"
	[ -e "$root$file" ] || cp -L "$file" "$root$file"
done
ldconfig -X -r "$root"
for mode in linked opened; do
	env -i "$(command -v chroot)" "$root" "/bin/$mode" | grep -q 'version 4711' || fail "$mode does not load the vendor's library before the installation"
done
install 0 "Done." --yes
for mode in linked opened; do
	env -i "$(command -v chroot)" "$root" "/bin/$mode" | grep -q 'version 13000' || fail "$mode does not load our library"
done
uninstall 0 "Done." --yes
env -i "$(command -v chroot)" "$root" /bin/linked | grep -q 'version 4711' || fail "the vendor's library is not loaded after uninstall"

# In a prefix that systemd does not search, the unit and the user are copied; Ollama, if present, gets a drop-in.
new /opt/gangway
echo '[Service]' >"$root/usr/lib/systemd/system/ollama.service"
snapshot >"$work/before"
install 0 "Ollama" --yes
grep -q '^ExecStart=/opt/gangway/bin/gangway serve ' "$root/etc/systemd/system/gangway.service" || fail "the unit does not start our command"
grep -q '^u gangway' "$root/etc/sysusers.d/gangway.conf" || fail "no user for the service"
grep -qx 'Environment="LD_LIBRARY_PATH=/opt/gangway/lib/gangway"' "$root/etc/systemd/system/ollama.service.d/gangway.conf" ||
	fail "the drop-in for Ollama sets no LD_LIBRARY_PATH"
grep -qx 'Environment="LD_AUDIT=/opt/gangway/lib/gangway/libgangway-follow.so:/opt/gangway/lib/gangway/libgangway-audit.so"' "$root/etc/systemd/system/ollama.service.d/gangway.conf" ||
	fail "the drop-in for Ollama sets no LD_AUDIT"
if command -v systemd-analyze >/dev/null; then
	cat "$root/usr/lib/systemd/system/ollama.service" "$root/etc/systemd/system/ollama.service.d/gangway.conf" >"$work/ollama.service"
	echo 'ExecStart=/bin/true' >>"$work/ollama.service"
	said=$(systemd-analyze verify "$work/ollama.service" 2>&1 | grep ollama)
	[ -z "$said" ] || fail "systemd-analyze rejects the drop-in: $said"
fi
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../gangway.service "$root/etc/systemd/system/multi-user.target.wants/gangway.service"
uninstall 1 "systemctl disable --now gangway" --yes
rm -r "$root/etc/systemd/system/multi-user.target.wants"
uninstall 0 "Done." --yes
unchanged "with unit, user and drop-in"

# Another version of Gangway replaces its own unit; a unit changed by the user is left alone and reported.
install 0 "Done." --yes
echo '# of the next version' >>"$root/opt/gangway/lib/systemd/system/gangway.service"
install 0 "replace" --yes
grep -q 'next version' "$root/etc/systemd/system/gangway.service" || fail "the unit was not replaced"
echo '# mine' >>"$root/etc/systemd/system/gangway.service"
snapshot >"$work/changed"
install 1 "exists, and gangway install did not write it" --yes
uninstall 1 "CHANGED  /etc/systemd/system/gangway.service" --yes
snapshot | cmp -s "$work/changed" - || fail "a changed unit, or a file next to it, was touched"
sed -i '$d' "$root/etc/systemd/system/gangway.service"
rm "$root/etc/systemd/system/ollama.service.d/gangway.conf" # a missing file is not an error
echo mine >"$root/etc/systemd/system/ollama.service.d/mine.conf"
uninstall 0 "Done." --yes
[ "$(cat "$root/etc/systemd/system/ollama.service.d/mine.conf")" = mine ] || fail "the user's drop-in was removed"
rm -r "$root/etc/systemd"
sed -i '$d' "$root/opt/gangway/lib/systemd/system/gangway.service"
unchanged "after a changed unit"

# A system without a loader cache has none afterwards.
new /usr/local bare
install 0 "Done." --yes
[ -e "$root/etc/ld.so.cache" ] || fail "no loader cache was created"
uninstall 0 "Done." --yes
unchanged "without a cache"

# Refused: files of other programs, links to files, links to folders.
refuses() { # message
	snapshot >"$work/before"
	install 1 "$1" --yes
	unchanged "refused: $1"
	install 1 "$1"
	unchanged "refused, dry: $1"
}
new /usr/local
echo /somewhere >"$root/etc/ld.so.conf.d/000-gangway.conf"
refuses "000-gangway.conf exists, and gangway install did not write it"
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

# Refused: libraries that other users can write to, or that are not in the system.
new /usr/local
chmod 777 "$root/usr/local/lib"
refuses "can be written by others"
new /usr/local
chown 65534 "$root/usr/local/lib/gangway" 2>/dev/null && refuses "can be written by others"
new /usr/local
gangway=$stage/bin/gangway
refuses "there is no $(realpath "$stage")/lib/gangway/libcuda.so.1 in $root"
# Accepted: an installation at the same path in the system.
new "$(realpath "$stage")"
gangway=$stage/bin/gangway
install 0 "Done." --yes
grep -qx "$(realpath "$stage")/lib/gangway" "$root/etc/ld.so.conf.d/000-gangway.conf" || fail "wrong path in 000-gangway.conf"
uninstall 0 "Done." --yes
unchanged "an installation at the same place"

# A manifest that gangway install did not write is rejected.
for line in 'file 00 /etc/ld.so.conf' "file $(printf '%064d' 0) /etc/ld.so.conf" 'folder /etc' 'made /etc/ld.so.conf' \
	'folder /usr/lib/x86_64-linux-gnu' 'nonsense' 'made /etc/ld.so.cache/../ld.so.conf' 'folder /'; do
	new /usr/local
	mkdir -p "$root/var/lib/gangway"
	printf 'gangway manifest 1\n%s\n' "$line" >"$root/var/lib/gangway/installed"
	snapshot >"$work/before"
	case $line in
	'folder /etc') uninstall 0 "Done." --yes # valid, because we create folders in it; not empty, so it stays
		[ -e "$root/etc/ld.so.conf" ] || fail "/etc was removed" ;;
	*) uninstall 1 "is not a list written by gangway install" --yes; unchanged "a manifest with: $line" ;;
	esac
done

# An ld.so.conf that does not include our file is reported.
new /usr/local
echo /usr/lib/x86_64-linux-gnu >"$root/etc/ld.so.conf"
ldconfig -X -r "$root"
snapshot >"$work/before"
install 1 "leads to /usr/lib/x86_64-linux-gnu/libcuda.so.1" --yes
uninstall 0 "Done." --yes
unchanged "a configuration without conf.d"

does 2 "--system is required" install
does 2 "unexpected argument x" install --system x
does 2 "unknown option --z" uninstall --z
does 1 "No such file" uninstall --root "$work/nosuch"
does 1 "No such file" install --system --root "$work/nosuch"
exit $failed
