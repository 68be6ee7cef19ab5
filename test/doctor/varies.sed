# What varies from one machine or run to the next. The folders and this build's name are dealt with in run.sh.
/^ERROR: ld.so/d
/^fine   vendor/d
s|protocol [0-9]*\.[0-9a-f]*|protocol N|g
s|: Gangway CPU (.*), compute|: Gangway CPU (...), compute|
s|\[[0-9][0-9]*\]|[PID]|g
s|kill [0-9][0-9]*|kill PID|
s|build id [0-9a-f]\{16\}|build id ID|
s|, [0-9.]* [KMGT]iB free|, ... free|
s|user [0-9]*,|user N,|
s|[0-9][0-9]* libraries of this build|N libraries of this build|
/^fine   device /s|, [0-9.]* [KMGT]iB|, ...|
/^fact   limits /s|limits .*|limits     ...|
# A sanitizer's library asks in the program's name.
s|lib[at]san.so.[0-9]*|the program|
# Columns of tables are as wide as what stands in them.
/^ \{18\}/s|\([^ ]\)  *|\1 |g
