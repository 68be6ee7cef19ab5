#!/bin/sh
# isolated.sh DEVICE [NAME=VALUE...] COMMAND...: runs COMMAND on DEVICE with a folder of its own for usage pages, so that
# processes of other tests are invisible.
device=$1
shift
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
GANGWAY_USAGE=$dir GANGWAY_DEVICE=$device env "$@"
