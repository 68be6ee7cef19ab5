# Ollama's user may not enter the folder in which Gangway is installed.
machine
ollama c "Environment=LD_LIBRARY_PATH=$dir/prefix/lib/gangway" User=ollama
text /etc/passwd root:x:0:0:root:/root:/bin/bash ollama:x:987:987::/usr/share/ollama:/bin/false
put "$lib/libcuda.so.1" "$dir/prefix/lib/gangway/libcuda.so.1"
chmod 755 "$dir"
mkdir -p "$dir/prefix/bin" "$dir/prefix/lib"
cp "$build/bin/gangway" "$dir/prefix/bin/gangway"
cp -R "$lib" "$dir/prefix/lib/gangway"
chmod 700 "$dir/prefix"
gangway=$dir/prefix/bin/gangway
look -- ollama
