#!/bin/sh
# Install the build, as make install does, for the tests that need an installation: stage.sh CMAKE BUILD PREFIX
rm -rf "$3"
unset DESTDIR
"$1" --install "$2" --prefix "$3" --strip >"$3.log" 2>&1 || { cat "$3.log"; exit 1; }
