# A process whose arguments need quoting, in another folder: the printed command restarts it.
mkdir -p "$root/it is/here"
cp "$made/waiter" "$root/it is/here/waiter"
cd "$root/it is/here" || fail "cannot enter $root/it is/here"
waiter GANGWAY_DEVICE=null -- ./waiter quiet 'two words' "isn't; touch x" '$HOME'
cd / || fail "cannot enter /"
doctor -- --pid "$waiting"
command=$(sed -n 's/^ *fix: //p' "$dir/out")
PATH=$bin:$PATH GANGWAY_DEVICE=null sh -c "$command" </dev/null 2>&1 | grep -q 'ready -1' || fail "the printed command does not work: $command"
