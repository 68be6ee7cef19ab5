# A program needs CUDA's runtime, which is not installed: the command installs it and sets the path.
machine
program runtime /opt/app/tool
look GANGWAY_DEVICE=null -- /opt/app/tool
