# After gangway install, the audit library redirects a stub on the service's path.
machine
ollama a 'Environment=LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs'
put "$made/stub-cuda.so" /usr/local/cuda/lib64/stubs/libcuda.so.1
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
put "$lib/libgangway-audit.so" /usr/lib/gangway/libgangway-audit.so
text /etc/systemd/system/ollama.service.d/gangway.conf '[Service]' 'Environment="LD_LIBRARY_PATH=/usr/lib/gangway"' \
	'Environment="LD_AUDIT=/usr/lib/gangway/libgangway-audit.so"'
look -- ollama
