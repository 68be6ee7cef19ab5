# Code whose PTX is for a newer device than the CPU device reports.
[ -x "$build/test/cpu/cpu-explain" ] || skip "no program with newer PTX"
doctor GANGWAY_DEVICE=cpu -- --seconds 60 -- "$build/test/cpu/cpu-explain" image </dev/null
