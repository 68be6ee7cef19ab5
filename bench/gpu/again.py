# A PyTorch program over and over, each time in a process of its own, without the seconds that its imports take.
#
#	again.py FOLDER PROGRAM
#
# FOLDER has two pipes. Each line that comes through `ask` is a file for what PROGRAM writes, and the processors it may
# use, if not all; `answer` gets its exit status, and before that a 0 when all is ready. An empty line is the end.
# PROGRAM is run as it is, in a child that knows PyTorch already and nothing of CUDA yet.
import os, runpy, sys, traceback
import torch


def child(path, processors, program):
    status = 1
    try:
        to = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(to, 1)
        os.dup2(to, 2)
        if processors:
            os.sched_setaffinity(0, processors)
        runpy.run_path(program, run_name='__main__')
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def numbers(text):
    ranges = [part.split('-') for part in text.split(',')]
    return {n for r in ranges for n in range(int(r[0]), int(r[-1]) + 1)}


def say(folder, status):
    with open(folder + '/answer', 'w') as answer:
        answer.write('%d\n' % status)


folder, program = sys.argv[1:]
say(folder, 0)
while True:
    with open(folder + '/ask') as ask:
        path, _, processors = ask.read().strip().partition(' ')
    if not path:
        break
    pid = os.fork()
    if not pid:
        child(path, numbers(processors) if processors else None, program)
    say(folder, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
