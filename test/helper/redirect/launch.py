"""launch.c in Python: launch.py DIR PROGRAM [ARGUMENTS]."""
import subprocess
import sys

sys.exit(subprocess.call(sys.argv[2:], env={"LD_LIBRARY_PATH": sys.argv[1]}))
