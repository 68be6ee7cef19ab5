#!/bin/bash
# gangway install --system in a tree with a vendor's libraries and links in it: nothing of theirs changes, nothing is
# written through a link or over a file, and gangway uninstall leaves no trace.  install.sh STAGE
stage=$1
gangway=$stage/bin/gangway
[ "$(id -u)" = 0 ] || { echo "skip: ldconfig -r needs root"; exit 77; }
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	[ -s "$out/said" ] && cat "$out/said"
	failed=1
}
# A machine with a vendor's driver and Ollama.
machine() { # name
	root=$out/$1
	rm -rf "$root"
	mkdir -p "$root"/{etc/ld.so.conf.d,etc/systemd/system,usr/lib/x86_64-linux-gnu,usr/local/lib,var/lib,var/cache,opt}
	echo 'include /etc/ld.so.conf.d/*.conf' >"$root/etc/ld.so.conf"
	echo /usr/lib/x86_64-linux-gnu >"$root/etc/ld.so.conf.d/x86_64-linux-gnu.conf"
	cp "$stage/lib/gangway/stubs/libcuda.so.1" "$root/usr/lib/x86_64-linux-gnu/libcuda.so.550.54"
	ln -s libcuda.so.550.54 "$root/usr/lib/x86_64-linux-gnu/libcuda.so.1"
	ln -s libcuda.so.1 "$root/usr/lib/x86_64-linux-gnu/libcuda.so"
	printf '[Service]\nExecStart=/usr/local/bin/ollama serve\n' >"$root/etc/systemd/system/ollama.service"
	# What would be loaded, at the path that the stage has.
	mkdir -p "$root/$(dirname "$stage/lib/gangway")"
	cp -a "$stage/lib/gangway" "$root/$stage/lib/"
	ldconfig -r "$root"
}
state() { (cd "$root" && find . -printf '%p %m %y %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$out/$1"; }
same() { cmp -s "$out/before" "$out/$1" || { fail "$2"; diff "$out/before" "$out/$1"; }; }
try() { # expected status, then words
	want=$1
	shift
	"$gangway" "$@" >"$out/said" 2>&1
	got=$?
	[ $got = "$want" ] || fail "gangway $* ends with $got, not $want"
}
says() { grep -q -- "$1" "$out/said" || fail "it does not say '$1'"; }

machine one
state before
try 0 install --system --root "$root"
says 'would write .*000-gangway.conf'
says 'ollama.service.d/gangway.conf'
says 'Nothing has been changed'
state dry && same dry "a dry run changes something"
try 0 install --system --yes --root "$root"
grep -qx "$(realpath "$stage")/lib/gangway" "$root/etc/ld.so.conf.d/000-gangway.conf" || fail "the loader's configuration"
grep -q '^Environment="LD_AUDIT=.*libgangway-audit.so' "$root/etc/systemd/system/ollama.service.d/gangway.conf" || fail "Ollama's drop-in"
grep -q "^ExecStart=$(realpath "$stage")/bin/gangway serve" "$root/etc/systemd/system/gangway.service" || fail "the unit"
ldconfig -r "$root" -p | grep 'libcuda.so.1 ' | head -n 1 | grep -q "$(realpath "$stage")/lib/gangway" ||
	{ ldconfig -r "$root" -p >"$out/said"; fail "the loader does not take ours first"; }
(cd "$root/usr/lib/x86_64-linux-gnu" && sha256sum libcuda.so.550.54 && readlink libcuda.so libcuda.so.1) >"$out/vendor"
grep -q "^$(sha256sum <"$stage/lib/gangway/stubs/libcuda.so.1" | cut -d' ' -f1) " "$out/vendor" || fail "the vendor's library is changed"
grep -qx libcuda.so.550.54 "$out/vendor" || fail "the vendor's links are changed"
try 1 install --system --yes --root "$root"
says 'installed in this system already'
state installed
try 0 uninstall --root "$root"
says 'would remove'
cp "$out/installed" "$out/before.installed"
state dry2
cmp -s "$out/installed" "$out/dry2" || fail "a dry run of uninstall changes something"
try 0 uninstall --yes --root "$root"
state after && same after "uninstall leaves a trace"
try 1 uninstall --yes --root "$root"
says 'is not installed'

# A system that never had a cache has none afterwards.
machine two
rm -rf "$root/etc/ld.so.cache" "$root/var/cache/ldconfig"
state before
try 0 install --system --yes --root "$root"
[ -s "$root/etc/ld.so.cache" ] || fail "ldconfig was not run"
try 0 uninstall --yes --root "$root"
state after && same after "uninstall leaves a cache"

# Links and files in the way: said before anything is written.
machine three
mv "$root/etc/ld.so.conf.d" "$root/opt/conf" && ln -s ../opt/conf "$root/etc/ld.so.conf.d"
state before
try 1 install --system --yes --root "$root"
says 'symbolic link'
state after && same after "it writes through a link"
machine four
echo theirs >"$root/etc/ld.so.conf.d/000-gangway.conf"
state before
try 1 install --system --yes --root "$root"
says 'not ours'
state after && same after "it replaces a file"
machine five
ln -s /etc/passwd "$root/etc/ld.so.conf.d/000-gangway.conf"
state before
try 1 install --system --yes --root "$root"
says 'symbolic link'
state after && same after "it writes to a link's end"

# What was changed since stays; a list that makes no sense removes nothing.
machine six
try 0 install --system --yes --root "$root"
echo '# mine' >>"$root/etc/ld.so.conf.d/000-gangway.conf"
try 1 uninstall --yes --root "$root"
says 'was changed since'
grep -q mine "$root/etc/ld.so.conf.d/000-gangway.conf" || fail "a changed file is gone"
[ ! -e "$root/etc/systemd/system/ollama.service.d" ] || fail "the rest stays, too"
machine seven
mkdir -p "$root/var/lib/gangway"
for bad in 'nonsense' 'gangway-installed 1
file 00 /etc/ld.so.conf' 'gangway-installed 1
folder ../etc'; do
	echo "$bad" >"$root/var/lib/gangway/installed"
	state before
	try 1 uninstall --yes --root "$root"
	says 'makes no sense'
	state after && same after "a list that makes no sense removes something"
done

# Root's loader is led nowhere that others can write.
cp -a "$stage" "$out/open"
chmod o+w "$out/open/lib/gangway"
"$out/open/bin/gangway" install --system >"$out/said" 2>&1 && fail "it trusts a folder that all may change"
says 'may be changed by others'
exit $failed
