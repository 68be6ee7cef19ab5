#!/bin/sh
# with.sh DEVICE [NAME=VALUE...] COMMAND...: runs COMMAND on DEVICE, alone: it has a folder of its own for what
# processes tell of themselves, so that none of another test is seen.
device=$1
shift
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
GANGWAY_USAGE=$dir GANGWAY_DEVICE=$device env "$@"
