# A program of CUDA's runtime, which is nowhere: the command brings it, and says where it is.
machine
program runtime /opt/app/tool
look GANGWAY_DEVICE=null -- /opt/app/tool
