#!/bin/sh
# make package: the Debian package and the tarball of one build, in dist: package.sh BUILD [DIST]
#
# The output is reproducible for each commit: times are those of the commit (or SOURCE_DATE_EPOCH), owners are root,
# names are sorted. Needs dpkg-deb, tar, gzip, xz and the build dependencies.
set -eu
build=$1
dist=${2:-dist}
here=$(cd "$(dirname "$0")/.." && pwd)
umask 022
LC_ALL=C TZ=UTC
export LC_ALL TZ
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$here/CHANGELOG.md")}
export SOURCE_DATE_EPOCH

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
arch=$(dpkg --print-architecture 2>/dev/null || uname -m)
maintainer=${GANGWAY_MAINTAINER:-The Gangway maintainers <maintainers@gangway.dev>}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)

stage() { # PREFIX FOLDER
	DESTDIR=$2 cmake --install "$build" --prefix "$1" --strip >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	find "$2" -type f -name '*.so*' -exec chmod a-x {} +
}

# Copy the licences of statically linked libraries from their packages.
licences() { # FOLDER
	packages="liblz4-dev libzstd-dev libncurses-dev libseccomp-dev"
	[ ! -e "$build/lib/gangway/libgangway-jit.so" ] ||
		packages="$packages llvm-19-dev zlib1g-dev libstdc++-$(${CC:-cc} -dumpversion | cut -d . -f 1)-dev"
	for package in $packages; do
		if [ -e "/usr/share/doc/$package/copyright" ]; then
			cp "/usr/share/doc/$package/copyright" "$1/copyright.${package%-dev}"
		else
			echo "package.sh: /usr/share/doc/$package/copyright is missing: add the licence before you distribute this package" >&2
		fi
	done
}

# Set modes and times, independent of the umask at checkout.
same() { # FOLDER
	find "$1" -type d -exec chmod 0755 {} +
	find "$1" -type f -perm -u+x -exec chmod 0755 {} +
	find "$1" -type f ! -perm -u+x -exec chmod 0644 {} +
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# ---- tarball: relocatable; the unit in it expects /opt/gangway ----
name=gangway-$version-linux-$(uname -m)
stage /opt/gangway "$work/tar"
mv "$work/tar/opt/gangway" "$work/$name"
cp "$here/packaging/tarball/run" "$here/packaging/tarball/INSTALL" "$work/$name/"
cp "$here/LICENSE" "$here/packaging/debian/copyright" "$work/$name/share/doc/gangway/"
licences "$work/$name/share/doc/gangway"
chmod 0755 "$work/$name/run"
same "$work/$name"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
	-C "$work" -cf - "$name" | gzip -9n >"$dist/$name.tar.gz"

# ---- Debian package ----
command -v dpkg-deb >/dev/null || { echo "$dist/$name.tar.gz (no Debian package: dpkg-deb is not installed)"; exit 0; }
root=$work/deb
stage /usr "$root"
doc=$root/usr/share/doc/gangway
{
	echo "gangway ($version) unstable; urgency=low"
	echo
	echo "  * See CHANGELOG.md in this folder."
	echo
	echo " -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.gz"
cp "$here/packaging/debian/copyright" "$doc/copyright"
licences "$doc"
mkdir -p "$root/usr/share/lintian/overrides" "$root/DEBIAN"
cp "$here/packaging/debian/lintian-overrides" "$root/usr/share/lintian/overrides/gangway"
find "$root/usr/share/man" -type f -exec gzip -9n {} +

# Dependencies of the programs: the C library, in the newest version that a program's symbols need, and the packages of
# the other needed libraries.
elves=$(find "$root/usr/bin" "$root/usr/lib/gangway" -type f)
needed=$(for f in $elves; do readelf -dW "$f" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; done | sort -u)
glibc=$(for f in $elves; do readelf -VW "$f"; done | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
depends="libc6 (>= $glibc)"
for soname in $needed; do
	case $soname in
	libc.so.6 | libm.so.6 | ld-linux*) continue ;;
	esac
	[ -e "$root/usr/lib/gangway/$soname" ] && continue
	package=$(dpkg-query -S "*/$soname" 2>/dev/null | head -n 1 | cut -d : -f 1)
	[ -n "$package" ] || { echo "package.sh: no known package contains $soname" >&2; exit 1; }
	depends="$depends, $package"
done

size=$(find "$root/usr" -type f -printf '%s\n' | awk '{n += int(($1 + 1023) / 1024)} END {print n}')
sed -e "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/; s/@DEPENDS@/$depends/" -e "s/@MAINTAINER@/$maintainer/" \
	"$here/packaging/debian/control.in" >"$root/DEBIAN/control"
(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
install -m 0755 "$here/packaging/debian/postinst" "$here/packaging/debian/prerm" "$root/DEBIAN/"
same "$root"
deb=$dist/gangway_${version}_$arch.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >"$work/log" || { cat "$work/log" >&2; exit 1; }

(cd "$dist" && sha256sum "$name.tar.gz" "$(basename "$deb")" >SHA256SUMS && cat SHA256SUMS)
