# Ollama's user has no permission to use the server's socket.
machine
ollama c 'Environment=LD_LIBRARY_PATH=/usr/lib/gangway GANGWAY_DEVICE=unix:/run/gangway.sock' User=ollama
text /etc/passwd root:x:0:0:root:/root:/bin/bash ollama:x:987:987::/usr/share/ollama:/bin/false
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
serve /run/gangway.sock
mkdir -p "$dir/prefix/bin" "$dir/prefix/lib"
cp "$build/bin/gangway" "$dir/prefix/bin/gangway"
cp -R "$lib" "$dir/prefix/lib/gangway"
chmod 755 "$dir"
gangway=$dir/prefix/bin/gangway
look -- ollama
