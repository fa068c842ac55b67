#!/usr/bin/env python3
"""Would the tests notice?  Plants the faults of mutants.txt in copies of mha.h, one at a time, and requires
that `make test` fails for each (for those that only another machine shows, a test under qemu-aarch64 or `make
firmware`).

    python3 tests/mutants/run.py [NAME [EVERY]]     only faults with NAME in their name; of those every n-th
    python3 tests/mutants/run.py --apply            no test: does each fault still have its place in mha.h?

What make test runs is tried in an order that finds a fault soon: the group of checks that mutants.txt names,
then the test programs one by one, at last make test itself; a fault is killed by the first that fails.  One
line per fault, then the counts.  Exit status: 0 when none survived and the unchanged mha.h passes, else 1.

In mutants.txt a fault is a line `name @ program[/instruction set] [group]`, lines that begin with - and hold
a text that stands exactly once in mha.h (line ends and indentation aside), and lines with + and what comes
instead, if anything.

From the environment: MAKE, CC, B (the folder for everything built).
"""
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(os.path.abspath(os.environ.get("B", "build")), "mutants")
# Warnings, which some faults cause, kill nothing.  No variable of an outer make may get in between.
MAKE = [os.environ.get("MAKE", "make"), "-s", "B=build", "CFLAGS=-O1", "WARN=-w", "NAME=", "SEED=0"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "B")}
SUITE = ["exact", "mha", "muladd", "native", "stack", "dispatch"]  # all of `make test` that is quick
GROUP_SECONDS, SECONDS = 60, 900


class Broken(Exception):
    """The list is wrong: a fault that does not apply or does not compile."""


def parse(path):
    """The faults: dictionaries with name, program, isa, group, old and new."""
    faults = []
    for number, line in enumerate(open(path, encoding="ascii"), 1):
        line = line.rstrip("\n")
        if not line or line[0] == "#":
            continue
        if line[:2] in ("- ", "+ ", "+"):
            faults[-1]["old" if line[0] == "-" else "new"].append(line[2:])
            continue
        match = re.fullmatch(r"(\S.*\S) +@ (\w+)(?:/(\w+))?(?: +(\S.*))?", line)
        if not match:
            raise Broken("%s:%d: neither a fault nor - nor +" % (path, number))
        name, program, isa, group = match.groups()
        faults.append({"name": name, "program": program, "isa": isa, "group": group, "old": [], "new": []})
    return faults


def plant(text, fault):
    """mha.h with the fault; line ends, also those with a backslash, and indentation do not count."""
    words = "\n".join(fault["old"]).split()
    places = list(re.finditer(r"(?:\s|\\\n)+".join(map(re.escape, words)), text)) if words else []
    if len(places) != 1:
        raise Broken("its text stands %d times in mha.h" % len(places))
    new = " ".join(fault["new"])
    return text[:places[0].start()] + new + text[places[0].end():]


def first_failure(command, folder, seconds):
    """What it prints in its first line with FAILED, or how else it fails; None if it succeeds.  Not a second
    longer than needed: it is stopped there."""
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True,
                               errors="replace", start_new_session=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    late = threading.Event()

    def stop():
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass

    timer = threading.Timer(seconds, lambda: (late.set(), stop()))
    timer.start()
    failure = last = ""
    for line in process.stdout:
        last = line.strip() or last
        match = re.match(r" *FAILED:? +(.*?)(?: +\d+ checks.*)?$", line)
        if match:
            failure = match.group(1)
            stop()
            break
    process.stdout.close()
    status = process.wait()
    timer.cancel()
    if failure or status == 0:
        return failure or None
    if last.startswith(("no group is named", "there is no instance")):
        raise Broken(last)
    if late.is_set():
        return "no end after %d s" % seconds
    return "signal %d" % -status if status < 0 else "status %d: %s" % (status, last)


class Tree:
    """A copy of the project in which things are built, changed and run."""

    def __init__(self, folder):
        self.folder = folder

    def make(self, program, *more):
        place = os.path.dirname(program)
        os.makedirs(os.path.join(self.folder, place), exist_ok=True)
        objects = [o for o in os.listdir(os.path.join(self.folder, place)) if o.endswith(".o")]
        old = [word for o in objects for word in ("-o", os.path.join(place, o))]  # have no code of mha.h
        done = subprocess.run(MAKE + old + list(more) + [program], cwd=self.folder, env=ENVIRONMENT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        if done.returncode:
            errors = [line for line in done.stdout.splitlines() if "error:" in line] + ["?"]
            raise Broken("it does not compile: " + errors[0])

    def check(self, program, isa=None, group=None):
        """What failed, or None."""
        seconds = GROUP_SECONDS if group else SECONDS
        chosen = ["0", group or ""] + [isa] * bool(isa)
        if program in ("exact", "mha", "muladd"):
            self.make("build/test_" + program)
            return first_failure(["build/test_" + program] + chosen, self.folder, seconds)
        if program in ("stack", "dispatch"):
            self.make("build/" + program)
            return first_failure(["build/" + program], self.folder, seconds)
        if program == "native":
            self.make("build/shared.so")
            return first_failure([sys.executable, "-B", "tests/native.py", "build/shared.so"], self.folder,
                                 seconds)
        if program == "neon":
            cross = ["B=build/neon", "CC=aarch64-linux-gnu-gcc", "LDFLAGS=-static"]
            self.make("build/neon/test_mha", *cross)
            return first_failure(["qemu-aarch64", "build/neon/test_mha"] + chosen, self.folder, 5 * seconds)
        if program == "firmware":
            return first_failure(["sh", "tests/firmware/run.sh", isa], self.folder, SECONDS)
        if program == "test":
            return first_failure(MAKE + ["test"], self.folder, SECONDS)
        raise Broken("there is no program " + program)


def missing(fault, isas):
    """The tool or the instruction set that a fault needs and that is not here, or None."""
    tools = {"neon": ["aarch64-linux-gnu-gcc", "qemu-aarch64"],
             "firmware": ["arm-none-eabi-gcc", "qemu-system-arm"]}.get(fault["program"], [])
    for tool in tools:
        if not shutil.which(tool):
            return tool
    if not elsewhere(fault) and fault["isa"] not in isas + [None]:
        return fault["isa"]
    return None


def elsewhere(fault):
    return fault["program"] in ("neon", "firmware")


def judge(tree, text, fault, isas):
    """(verdict, what to say)"""
    lacks = missing(fault, isas)
    if lacks:
        return "skipped", lacks + " is not here"
    try:
        with open(os.path.join(tree.folder, "mha.h"), "w", encoding="ascii") as out:
            out.write(plant(text, fault))
        tries = [(fault["program"], fault["isa"], fault["group"])]
        if not elsewhere(fault):
            tries += [(program, None, None) for program in SUITE + ["test"]]
        for program, isa, group in tries:
            failure = tree.check(program, isa, group)
            if failure:
                return "killed", "%s: %s" % (program, failure)
        return "SURVIVED", ""
    except Broken as broken:
        return "BROKEN", str(broken)


def prepare(count):
    """So many trees, in which everything is built from the unchanged mha.h."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    first = os.path.join(FOLDER, "0")
    os.makedirs(os.path.join(first, "build"))
    for name in ("mha.h", "Makefile", "README.md", "LICENSE", "tests", "examples"):
        path, to = os.path.join(ROOT, name), os.path.join(first, name)
        (shutil.copytree if os.path.isdir(path) else shutil.copy2)(path, to)
    Tree(first).make("build/test_mha", "-j%d" % count)
    for k in range(1, count):
        shutil.copytree(first, os.path.join(FOLDER, str(k)))
    return [Tree(os.path.join(FOLDER, str(k))) for k in range(count)]


def apply():
    """Status 0 when every fault has its place."""
    text = open(os.path.join(ROOT, "mha.h"), encoding="ascii").read()
    passed = failed = 0
    for fault in parse(os.path.join(HERE, "mutants.txt")):
        try:
            passed += plant(text, fault) != text
        except Broken as broken:
            print("  FAILED  %s: %s" % (fault["name"], broken))
            failed += 1
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


def main():
    if sys.argv[1:] == ["--apply"]:
        sys.exit(apply())
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    start = time.time()
    text = open(os.path.join(ROOT, "mha.h"), encoding="ascii").read()
    faults = [f for f in parse(os.path.join(HERE, "mutants.txt")) if name in f["name"]][::every]
    if not faults:
        sys.exit("no fault is named like '%s'" % name)
    count = min(os.cpu_count() or 1, len(faults) + 1)
    trees = prepare(count)
    free = queue.Queue()
    for tree in trees:
        free.put(tree)

    def in_a_tree(task, *given):
        tree = free.get()
        try:
            return task(tree, *given)
        finally:
            free.put(tree)

    isas = [isa for isa in ("scalar", "sse2", "avx2", "avx512")
            if subprocess.run(["build/test_mha", "0", "example", isa], cwd=trees[0].folder,
                              stdout=subprocess.DEVNULL).returncode == 0]
    whole = ["mha", "muladd", "exact"] + SUITE[3:]
    own = sorted({(f["program"], f["isa"], f["group"]) for f in faults
                  if not missing(f, isas) and (f["group"] or f["program"] not in whole)}, key=str)
    counts = dict.fromkeys(("killed", "SURVIVED", "skipped", "BROKEN"), 0)
    with ThreadPoolExecutor(count) as pool:
        tasks = [(program, None, None) for program in whole] + own
        for task, failure in zip(tasks, pool.map(lambda t: in_a_tree(Tree.check, *t), tasks)):
            if failure:
                sys.exit("FAILED: the unchanged mha.h does not pass %s: %s" % (task, failure))
        print("  unchanged, mha.h passes (%d s)" % (time.time() - start), flush=True)
        judged = pool.map(lambda f: in_a_tree(judge, text, f, isas), faults)
        for fault, (verdict, what) in zip(faults, judged):
            counts[verdict] += 1
            print("  %-8s %-60s %s" % (verdict, fault["name"], what[:120]), flush=True)
    print("%d killed, %d survived" % (counts["killed"], counts["SURVIVED"]) +
          "".join(", %d %s" % (counts[k], k.lower()) for k in ("skipped", "BROKEN") if counts[k]) +
          " (%d s)" % (time.time() - start))
    sys.exit(1 if counts["SURVIVED"] or counts["BROKEN"] else 0)


if __name__ == "__main__":
    main()
