# Replace text that differs between machines and runs. run.sh replaces folders and the build name.
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
# Without a GPU, the fix shares the processor.
s/serve --on cpu --listen tcp:..127.0.0.1:1$/serve --listen tcp:\/\/127.0.0.1:1/
# A sanitizer's library makes requests for the program.
s|lib[at]san.so.[0-9]*|the program|
# The width of table columns depends on their content.
/^ \{18\}/s|\([^ ]\)  *|\1 |g
s|(Gangway CPU (.*), compute capability|(Gangway CPU (...), compute capability|
s|(image=0x[0-9a-f]*)|(image=ADDRESS)|
s| [0-9.]*us$| N us|
