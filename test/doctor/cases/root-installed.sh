# A system with an installation of Gangway from another build.
machine
for file in libcuda.so.1 libgangway-soft.so libgangway-audit.so libgangway-follow.so; do
	put "$made/old-cuda.so" /usr/lib/gangway/$file
done
look --
