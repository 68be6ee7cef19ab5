#!/bin/sh
# setup.sh --check      prints the build dependencies that this machine lacks, also optional ones; installs nothing
# setup.sh PART...      installs them with apt-get: build, nvcc (for nvcc and its installation from PyPI), test
check() { # package, command that succeeds if the package's content is present
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}
option() { # as check: the build works without the package
	package=$1
	shift
	"$@" >/dev/null 2>&1 || optional="$optional $package"
}
archive() { case $(${CC:-cc} -print-file-name="$1") in /*) ;; *) return 1 ;; esac; }
header() { echo "#include <$1>" | ${CC:-cc} -E -x c -; }

missing=
optional=
for part in "${@:---check}"; do
	case $part in
	build | --check)
		check gcc command -v "${CC:-cc}"
		check binutils command -v ld
		check cmake command -v cmake
		check ninja-build command -v ninja
		check libc6-dev header stdio.h
		check liblz4-dev header lz4.h
		check libzstd-dev header zstd.h
		check libncurses-dev header ncurses.h
		check libseccomp-dev header seccomp.h
		# The kernel compiler of the CPU device.
		option llvm-19-dev command -v llvm-config-19
		option zlib1g-dev archive libz.a
		option g++ archive libstdc++.a
		;;
	nvcc)
		check g++ command -v g++
		command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] || check python3-venv python3 -c 'import ensurepip, venv'
		;;
	test)
		check clang-format-19 command -v clang-format-19
		;;
	*)
		echo "setup.sh: unknown part $part: build, nvcc or test" >&2
		exit 2
		;;
	esac
done
[ -n "$missing$optional" ] || exit 0

if [ "${1:---check}" = --check ]; then
	[ -z "$optional" ] || echo "Missing but optional:$optional. Without them the CPU device interprets kernels instead of compiling them." >&2
	[ -n "$missing" ] || exit 0
	echo "Missing:$missing" >&2
	echo "Install these Debian packages or their equivalents: 'make setup' does it." >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	[ -z "$optional" ] || echo "Without the equivalents of these Debian packages the CPU device interprets kernels:$optional" >&2
	[ -n "$missing" ] || exit 0
	echo "This machine has no apt-get. Install the equivalents of these Debian packages, then run this again:$missing" >&2
	exit 1
fi
if [ "$(id -u)" = 0 ]; then
	sudo=
elif command -v sudo >/dev/null; then
	sudo=sudo
else
	echo "Run as root: apt-get install$missing$optional" >&2
	[ -n "$missing" ] || exit 0
	exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { # packages
	echo "Installing with apt-get: $*"
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1
}
if ! $sudo apt-get update -qq >"$log" 2>&1 || { [ -n "$missing" ] && ! install $missing; }; then
	cat "$log" >&2
	[ -n "$missing" ] || exit 0
	exit 1
fi
if [ -n "$optional" ] && ! install $optional; then
	echo "Some of these packages cannot be installed:$optional. The CPU device interprets kernels instead of compiling them." >&2
fi
