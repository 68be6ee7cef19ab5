# Run a PyTorch program repeatedly in one process, without the seconds that imports and the first kernels take.
#
#	again.py FOLDER PROGRAM
#
# FOLDER contains two pipes. Each line read from `ask` names an output file for PROGRAM and, optionally, the processors
# that it may use; the script writes 0 (success) or 1 to `answer` after each run. At the start it runs PROGRAM once
# as a warm-up and writes 0 when it is ready. An empty line ends the script.
import os, runpy, sys, traceback
import torch


def run(path, processors, program):
    to = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(to, 1)
    os.dup2(to, 2)
    os.close(to)
    for thread in os.listdir('/proc/self/task') if processors else []:
        os.sched_setaffinity(int(thread), processors)
    status = 1
    try:
        runpy.run_path(program, run_name='__main__')
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def numbers(text):
    ranges = [part.split('-') for part in text.split(',')]
    return {n for r in ranges for n in range(int(r[0]), int(r[-1]) + 1)}


def say(folder, status):
    with open(folder + '/answer', 'w') as answer:
        answer.write('%d\n' % status)


folder, program = sys.argv[1:]
say(folder, run(folder + '/first', None, program))
while True:
    with open(folder + '/ask') as ask:
        path, _, processors = ask.read().strip().partition(' ')
    if not path:
        break
    say(folder, run(path, numbers(processors) if processors else None, program))
