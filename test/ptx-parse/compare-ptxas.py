#!/usr/bin/env python3
"""Compare the verdicts of ptxas and of our parser on generated PTX.

    compare-ptxas.py PTXDUMP FOLDER [COUNT [SEED]]

Takes the PTX files below FOLDER, changes one instruction or declaration of a file at a time (types, modifiers,
operands, registers), and asks ptxas and ptxdump whether each result is valid. Prints the texts that ptxas accepts and
our parser refuses, grouped by the reason, and the number of the opposite, which is harmless: no compiler writes them.
Fails if a reason is not in compare-ptxas.known. Exits with 77 without ptxas.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

TYPES = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "b128", "f16", "f16x2", "bf16",
         "bf16x2", "f32", "f64", "pred"]
MODIFIERS = ["rn", "rz", "rm", "rp", "rni", "rzi", "sat", "ftz", "cc", "lo", "hi", "wide", "v2", "v4", "relu", "NaN", "approx",
             "full", "gpu", "cta", "sys", "relaxed", "acquire", "release", "volatile", "weak", "global", "shared", "local",
             "const", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "uni", "eq", "ne", "lt", "ge", "lo", "hs", "and", "or",
             "xor", "add", "min", "max", "exch", "cas", "inc", "aligned", "sync"]
OPERANDS = ["0", "1", "-1", "0x7fffffff", "0f3f800000", "0d3ff0000000000000", "1.5", "_", "%tid.x", "%laneid", "%clock64", "WARP_SZ",
            "1U", "(1+2)*3", "!%q", "{%r1, %r2}"]


def instructions(lines):
    """Numbers of the lines that hold one instruction."""
    return [i for i, l in enumerate(lines) if re.match(r"\s*(@!?%\w+\s+)?[a-z][\w.:]*\s+[^:]*;\s*$", l)]


def mutate_type(rng, line):
    found = [m for m in re.finditer(r"\.(%s)\b" % "|".join(TYPES), line)]
    if not found:
        return None
    m = rng.choice(found)
    return line[:m.start(1)] + rng.choice(TYPES) + line[m.end(1):]


def mutate_modifier(rng, line):
    m = re.match(r"(\s*(?:@!?%\w+\s+)?)([a-z][\w.:]*)(.*)$", line, re.S)
    parts = m.group(2).split(".")
    at = rng.randrange(1, len(parts) + 1)
    if rng.random() < 0.4 and len(parts) > 1:
        del parts[min(at, len(parts) - 1)]
    else:
        parts.insert(at, rng.choice(MODIFIERS))
    return m.group(1) + ".".join(parts) + m.group(3)


def mutate_operand(rng, line, text):
    m = re.match(r"(\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+)(.*);(\s*)$", line, re.S)
    parts = re.split(r",\s*(?![^{\[(]*[}\])])", m.group(2))
    at = rng.randrange(len(parts))
    registers = sorted(set(re.findall(r"%[a-z]+\d*\b", text)))
    choice = rng.random()
    if choice < 0.2 and len(parts) > 1:
        other = rng.randrange(len(parts))
        parts[at], parts[other] = parts[other], parts[at]
    elif choice < 0.3:
        del parts[at]
    elif choice < 0.4:
        parts.insert(at, parts[at])
    elif choice < 0.5:
        parts[at] += rng.choice(["+4", " + 1", "+-8", "-4"])
    elif choice < 0.75:
        parts[at] = rng.choice(OPERANDS)
    else:
        parts[at] = rng.choice(registers or OPERANDS)
    return m.group(1) + ", ".join(parts) + ";" + m.group(3)


def mutate_register(rng, lines):
    found = [i for i, l in enumerate(lines) if re.match(r"\s*\.reg\b", l)]
    if not found:
        return None
    i = rng.choice(found)
    return lines[:i] + [mutate_type(rng, lines[i])] + lines[i + 1:]


def mutate(rng, text):
    lines = text.split("\n")
    if rng.random() < 0.25:
        lines = mutate_register(rng, lines)
        return "\n".join(lines) if lines else None
    places = instructions(lines)
    if not places:
        return None
    i = rng.choice(places)
    kind = rng.choice([mutate_type, mutate_modifier, None])
    line = kind(rng, lines[i]) if kind else mutate_operand(rng, lines[i], text)
    if line is None or line == lines[i]:
        return None
    return "\n".join(lines[:i] + [line] + lines[i + 1:])


def generalise(message):
    """The reason without names and numbers, so that messages about the same thing are equal."""
    message = re.sub(r"^\d+:\d+: ", "", message)
    message = re.sub(r"'%?[\w.$]*'", "'X'", message) if "modifier" not in message else message
    return re.sub(r"\b\d+\b", "N", message)


class Judge:
    def __init__(self, ptxas, dump, folder):
        self.ptxas, self.dump, self.folder = ptxas, dump, folder

    def verdict(self, job):
        number, text, origin = job
        path = os.path.join(self.folder, "%d.ptx" % number)
        with open(path, "w") as f:
            f.write(text)
        arch = re.search(r"\.target\s+(sm_\w+)", text)
        arch = arch.group(1) if arch else "sm_90"
        if int(re.match(r"sm_(\d+)", arch).group(1)) < 75:
            arch = "sm_75"
        theirs = subprocess.run([self.ptxas, "-arch=" + arch, "-O0", "-o", "/dev/null", path], capture_output=True, text=True)
        ours = subprocess.run([self.dump, path, "p"], capture_output=True, text=True)
        os.unlink(path)
        reason = (ours.stderr or ours.stdout).strip().split("\n")
        line = reason[1].strip() if len(reason) > 1 else ""
        return theirs.returncode == 0, ours.returncode == 0, generalise(reason[0]), line, origin


def sources(folder):
    found = []
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(".ptx"):
                with open(os.path.join(root, name)) as f:
                    text = f.read()
                if ".visible .entry" in text and len(text) < 20000 and "refuse" not in text:
                    found.append((name, re.sub(r"^//.*\n", "", text, flags=re.M)))
    return found


def main():
    dump, folder = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    if not ptxas:
        print("skipped: no ptxas to compare with")
        return 77
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare-ptxas.known")) as f:
        known = [l.split("#")[0].strip() for l in f if l.split("#")[0].strip()]
    files = sources(folder)
    jobs = []
    while len(jobs) < count:
        name, text = rng.choice(files)
        text = mutate(rng, text)
        if text:
            jobs.append((len(jobs), text, name))
    refused, accepted, agreed = {}, 0, 0
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(os.cpu_count()) as pool:
        for theirs, ours, reason, line, origin in pool.map(Judge(ptxas, dump, tmp).verdict, jobs):
            if theirs == ours:
                agreed += 1
            elif ours:
                accepted += 1
            else:
                refused.setdefault(reason, []).append("%s   [%s]" % (line, origin))
    new = 0
    for reason, examples in sorted(refused.items(), key=lambda r: -len(r[1])):
        is_known = any(re.fullmatch(k, reason) for k in known)
        new += not is_known
        print("%s%d refused: %s" % ("" if is_known else "NEW: ", len(examples), reason))
        for e in examples[:3]:
            print("    " + e)
    print("%d texts: %d verdicts agree, ptxas alone accepts %d, our parser alone %d" %
          (count, agreed, sum(map(len, refused.values())), accepted))
    return 1 if new else 0


sys.exit(main())
