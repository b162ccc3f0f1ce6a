"""Hostile surroundings: what a shell, a batch system or another program may do to pipesim.

abuse.py PIPESIM [--long] [--seed N] [--only WORD]

Runs commands with closed and full descriptors, small limits, one core, odd signal states, signals at random moments, and
beside themselves, each in a folder of its own. After each: the exit code fits; a command that fails says why; exports
are absent or whole; a finished point of a sweep is in its journal; no temporary file and no process is left. Prints a
table and ends with 1 if anything is wrong. --long: more random moments (label long).

Not repeated here, because tests/cli has it in more detail: a run killed or crashed at work (RunProcess.*), Ctrl-C at any
moment of a run and of a prediction (RunProcess.CtrlCAtAnyMomentEndsIt, Signals.*), memory that runs out (Memory.*,
OomKill.*), vanished files (Photos.*), journals after kills (sweep_test.cc), damaged inputs (inputs_test.cc).
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 60          # of one command: nothing here takes a tenth of it
NOBODY = 65534        # the kernel limits root's processes by nothing
MARK = "PIPESIM_ABUSE_CASE"

EMULATED = ["--device", "emulated"]
COMMANDS = {
    "validate": ["validate", "--workers", "2"],
    "predict": ["predict", *EMULATED, "--workers", "2", "--duration", "5s", "--export", "json=out.json"],
    "run": ["run", *EMULATED, "--workers", "1", "--steps", "40", "--quiet", "--export", "json=out.json"],
    "sweep": ["sweep", *EMULATED, "--engine", "predict", "--axis", "workers=0,1,2", "--journal", "points.jsonl", "--quiet",
              "--export", "json=out.json"],
    "size": ["size", "--device", "rtx-4060", "--prepare", "2ms", "--cpus", "8", "--workers", "8", "--target",
             "samples_per_s>=900", "--solve", "limits.cpus", "--export", "json=out.json"],
    "tune": ["tune", "--engine", "predict", "--device", "rtx-4060", "--prepare", "1ms", "--cpus", "4", "--quiet", "--export",
             "json=out.json"],
    "compare": ["compare", "before.json", "after.json", "--export", "json=out.json"],
    "report": ["report", "before.json", "--export", "json=out.json"],
    "explain": ["explain"],
    "scenarios": ["scenarios"],
}
# Runs until it is stopped; so does its sweep, of points that take a while.
LONG_RUN = ["run", *EMULATED, "--workers", "2", "--duration", "50s", "--quiet", "--export", "json=out.json"]
RUN_SWEEP = ["sweep", *EMULATED, "--axis", "workers=0,1,2,3", "--steps", "30", "--quiet", "--journal", "points.jsonl",
             "--export", "json=out.json"]
INPUTS = {"before.json", "after.json"}
RESULTS = {"out.json", "points.jsonl", "state"}


@dataclasses.dataclass
class Case:
    """`before`: called in the child; `meanwhile`: called with the process once it runs; `codes`: what it may end with."""

    surroundings: str
    command: str
    words: list
    before: object = None
    meanwhile: object = None
    codes: set = dataclasses.field(default_factory=lambda: {0})
    replaces: bool = False     # the export is there before
    silent: bool = False       # stderr cannot be read, or a signal ends it without a word
    whole: bool = False        # the export is written whatever the exit code
    environment: dict = dataclasses.field(default_factory=dict)
    nobody: bool = False
    complaint: str = ""        # a part of the message


def code_of(process):
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def left_running(mark):
    """Processes of a case that outlived its command, by the mark in their environment."""
    wanted = f"{MARK}={os.getpid()}-{mark}".encode()
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it ended meanwhile, or belongs to somebody else
    return found


def none_left(mark):
    """A run dies with its parent, but not in the same instant."""
    for _ in range(100):
        if not left_running(mark):
            return True
        time.sleep(0.05)
    return False


def faults_of_files(folder, code, case):
    faults = [f"left behind: {path.name}" for path in folder.iterdir() if path.name not in INPUTS | RESULTS | {"tmp"}]
    faults += [f"left behind: tmp/{path.name}" for path in (folder / "tmp").glob("*")]
    documents = [path for path in [folder / "out.json"] if path.exists()]
    documents += [path for path in (folder / "state").rglob("*") if path.is_file()]
    for path in documents:
        try:
            if "kind" not in json.loads(path.read_text()):
                faults.append(f"no report: {path.name}")
        except ValueError:
            faults.append(f"half-written: {path.relative_to(folder)}")
    exports = any(word.endswith("out.json") for word in case.words)
    if exports and (code == 0 or case.whole) and not (folder / "out.json").exists():
        faults.append("the export is lost")
    return faults


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def nobody_may_run(program):
    """Root's own folder is closed to others."""
    try:
        return os.getuid() != 0 or subprocess.run([program, "--version"], preexec_fn=become_nobody,
                                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


class Bench:
    """Runs cases of one program, each in a new folder."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.number, self.lock = 0, threading.Lock()
        self.report = None

    def folder(self):
        with self.lock:
            self.number += 1
            folder = self.root / str(self.number)
        (folder / "tmp").mkdir(parents=True)
        if self.report:
            for name in INPUTS:
                (folder / name).write_bytes(self.report)
        for path in (folder, folder / "tmp"):
            path.chmod(0o777)
        return folder

    def start(self, case, folder, mark):
        environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(folder / "state"), "TMPDIR": str(folder / "tmp"),
                       MARK: f"{os.getpid()}-{mark}", **case.environment}
        environment = {name: value for name, value in environment.items() if value is not None}

        def before():
            if case.nobody and os.getuid() == 0:
                become_nobody()
            if case.before:
                case.before()

        # In files: a pipe would end the command when it is closed, and fill up.
        with open(folder.parent / f"{mark}.out", "wb") as out, open(folder.parent / f"{mark}.err", "wb") as err:
            return subprocess.Popen([self.program, *case.words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=err, preexec_fn=before, start_new_session=True)

    def texts(self, folder, mark):
        return [(folder.parent / f"{mark}.{end}").read_text(errors="replace") for end in ("out", "err")]

    def run(self, case):
        """What is wrong, and the exit code."""
        folder = self.folder()
        mark = folder.name
        if case.replaces:
            (folder / "out.json").write_bytes(self.report)
        process = self.start(case, folder, mark)
        try:
            if case.meanwhile:
                case.meanwhile(process)
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return [f"still running after {LIMIT_S} s"], -1
        code = code_of(process)
        out, err = self.texts(folder, mark)
        faults = []
        if code not in case.codes:
            faults.append(f"exit code {code}, not {' or '.join(map(str, sorted(case.codes)))}: {err.strip()[-200:]}")
        # The report of a run that failed or was interrupted says so itself.
        if code != 0 and not case.silent and not err.strip() and not (out.strip() and code in (4, 130)):
            faults.append(f"exit code {code} without a word")
        if case.complaint and case.complaint not in err:
            faults.append(f"stderr lacks '{case.complaint}': {err.strip()[-200:]}")
        if not none_left(mark):
            faults.append(f"processes left: {left_running(mark)}")
        faults += faults_of_files(folder, code, case)
        if not faults:
            shutil.rmtree(folder, ignore_errors=True)
        return faults, code


# ---- what is done to a command

def closing(*descriptors):
    return lambda: [os.close(each) for each in descriptors]


def full(*descriptors):
    return lambda: [os.dup2(os.open("/dev/full", os.O_WRONLY), each) for each in descriptors]


def limited(what, most):
    return lambda: resource.setrlimit(what, (most, most))


def read_by_nobody():
    """stdout is a pipe whose reader has gone, as after `| head -0`."""
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(reader)
    os.close(writer)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def ignoring(*signals):
    return lambda: [signal.signal(each, signal.SIG_IGN) for each in signals]


def blocking_all():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def descriptors():
    prints = {0, 3}
    for name, words in COMMANDS.items():
        yield Case("stdin closed", name, words, closing(0))
        yield Case("stdout closed", name, words, closing(1), codes={3}, whole=True)
        yield Case("stderr closed", name, words, closing(2), silent=True)
        yield Case("all three closed", name, words, closing(0, 1, 2), codes={3}, silent=True, whole=True)
        yield Case("stdout full", name, words, full(1), codes={3}, whole=True)
        yield Case("stderr full", name, words, full(2), silent=True)
        # SIGPIPE ends what only prints; what measures has written its export before.
        yield Case("stdout's reader gone", name, words, read_by_nobody, codes=prints | {128 + signal.SIGPIPE}, silent=True,
                   whole=True)


def limits():
    allowed = {0, 3, 4}
    for name in ("validate", "predict", "run", "sweep", "tune"):
        words = COMMANDS[name]
        for most in (4, 5, 6, 8, 12):
            yield Case("few descriptors", name, words, limited(resource.RLIMIT_NOFILE, most), codes=allowed | {127})
        for most in (0, 1 << 10, 16 << 10):
            yield Case("small files", name, words, limited(resource.RLIMIT_FSIZE, most), codes=allowed, silent=most == 0)
        for most in (64, 96, 128, 192, 256):
            yield Case("little address space", name, words, limited(resource.RLIMIT_AS, most << 20), codes=allowed)
        for most in (8, 16, 32, 64):
            yield Case("little data", name, words, limited(resource.RLIMIT_DATA, most << 20), codes=allowed)
        for most in (128, 256, 1024):
            yield Case("small stack", name, words, limited(resource.RLIMIT_STACK, most << 10), codes=allowed)
        yield Case("no locked memory", name, words, limited(resource.RLIMIT_MEMLOCK, 0))
        yield Case("no queued signals", name, words, limited(resource.RLIMIT_SIGPENDING, 0))
        for most in (1, 2, 3, 5):
            yield Case("few processes", name, words, limited(resource.RLIMIT_NPROC, most), codes=allowed, nobody=True)
    yield Case("a second of CPU", "run", ["run", *EMULATED, "--workers", "2", "--prepare", "2ms", "--duration", "20s",
                                         "--quiet", "--export", "json=out.json"],
               limited(resource.RLIMIT_CPU, 1), codes={4}, silent=True, whole=True)


def states():
    for name in ("validate", "predict", "run", "sweep", "tune"):
        words = COMMANDS[name]
        yield Case("one core", name, words, one_core)
        yield Case("SIGCHLD ignored", name, words, ignoring(signal.SIGCHLD))
        yield Case("all signals blocked", name, words, blocking_all)
        yield Case("every signal ignored", name, words, ignoring(*range(1, 9), *range(10, 19), *range(20, 32)))
        yield Case("empty environment", name, words, environment={"PATH": None, "XDG_STATE_HOME": None, "TMPDIR": None})
        yield Case("no temporary folder", name, words, environment={"TMPDIR": "/nonexistent"})
        yield Case("unknown locale", name, words, environment={"LC_ALL": "xx_XX.nonsense", "LANG": "\udcff"})
        yield Case("umask 0777", name, words, lambda: os.umask(0o777))
        yield Case("nobody's rights", name, words, nobody=True)
    gone = lambda: (os.mkdir("gone"), os.chdir("gone"), os.rmdir("../gone"))
    for name in ("validate", "explain"):
        yield Case("folder removed", name, COMMANDS[name], gone)
    for name in ("predict", "run", "sweep"):
        yield Case("folder removed", name, COMMANDS[name], gone, codes={3})


def signalled(number, after_s, group):
    def send(process):
        time.sleep(after_s)
        try:
            (os.killpg if group else os.kill)(process.pid, number)
        except ProcessLookupError:
            pass
    return send


def stopped_and_continued(process):
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGCONT)


def signals(chance, rounds):
    """To the command alone, or to its group as a terminal does."""
    stop = {0, 130}
    for _ in range(rounds):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGQUIT, signal.SIGUSR1,
                       signal.SIGALRM, signal.SIGXCPU, signal.SIGPIPE):
            drains = number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            ends = {128 + number, *(stop if drains else {0})}
            for name, words, longest_s in (("run", LONG_RUN if drains else COMMANDS["run"], 0.8),
                                           ("sweep", RUN_SWEEP, 0.9), ("predict", COMMANDS["predict"], 0.1)):
                group = chance.random() < 0.5
                # The run's own process may be the one that dies: a failed run, or the program's own mistake.
                codes = ends | ({1, 4} if group and not drains else set())
                # While a file is replaced, only SIGKILL can leave the new one's temporary name.
                replaces = number != signal.SIGKILL and chance.random() < 0.5
                yield Case(f"{number.name} at random", name, words, replaces=replaces, codes=codes, silent=True,
                           meanwhile=signalled(number, chance.uniform(0, longest_s), group))
    for name in ("predict", "run", "sweep"):
        yield Case("stopped, continued", name, COMMANDS[name], meanwhile=stopped_and_continued)


# ---- two at once

def at_once(bench, name, words, count):
    """The same command several times in one folder, started together: their codes and what is wrong with the folder."""
    folder = bench.folder()
    case = Case("at once in one folder", name, words)
    marks = [f"{folder.name}-{i}" for i in range(count)]
    processes = [bench.start(case, folder, mark) for mark in marks]
    for process in processes:
        process.wait(LIMIT_S)
    codes = sorted(code_of(process) for process in processes)
    faults = faults_of_files(folder, codes[0], case)
    faults += [f"processes left of {mark}" for mark in marks if not none_left(mark)]
    return folder, codes, faults


def beside_itself(bench):
    rows = []
    for name, count in (("predict", 8), ("run", 3)):
        folder, codes, faults = at_once(bench, name, COMMANDS[name], count)
        if codes != [0] * count:
            faults.append(f"exit codes {codes}")
        kept = len(list((folder / "state").rglob("*.json")))
        if kept != count:
            faults.append(f"{kept} of {count} reports are kept")
        rows.append(("at once in one folder", name, count, set(codes), faults))
    # A journal has one writer; the others say so and leave it alone.
    folder, codes, faults = at_once(bench, "sweep", RUN_SWEEP, 3)
    if codes != [0, 3, 3]:
        faults.append(f"exit codes {codes}, not one sweep and two refusals")
    if len((folder / "points.jsonl").read_text().splitlines()) != 5:
        faults.append("the journal does not hold its four points")
    rows.append(("at once in one folder", "sweep", 3, set(codes), faults))
    return rows


def resumed(bench, chance, rounds):
    """A sweep that is killed again and again goes on, and no finished point is run twice or lost."""
    faults, kills = [], 0
    folder = bench.folder()
    for attempt in range(rounds):
        case = Case("killed, resumed", "sweep", [*RUN_SWEEP, *(["--resume"] if attempt else [])])
        process = bench.start(case, folder, f"{folder.name}-{attempt}")
        signalled(signal.SIGKILL, chance.uniform(0, 0.8), False)(process)
        process.wait(LIMIT_S)
        kills += code_of(process) == 128 + signal.SIGKILL
        if not none_left(f"{folder.name}-{attempt}"):
            faults.append("processes left")
    case = Case("killed, resumed", "sweep", [*RUN_SWEEP, "--resume"])
    process = bench.start(case, folder, f"{folder.name}-end")
    process.wait(LIMIT_S)
    if code_of(process) != 0:
        faults.append(f"exit code {code_of(process)}: {bench.texts(folder, folder.name + '-end')[1].strip()[-200:]}")
    else:
        points = [json.loads(line)["record"]["point"] for line in (folder / "points.jsonl").read_text().splitlines()[1:]]
        if sorted(points) != [0, 1, 2, 3]:
            faults.append(f"the journal holds points {points}")
    faults += faults_of_files(folder, code_of(process), case)
    return [("killed, resumed", "sweep", rounds + 1, {code_of(process)}, faults)]


# ---- the table

def table(rows):
    """One line for each surroundings: commands, runs, exit codes."""
    grouped = {}
    for surroundings, command, count, codes, faults in rows:
        entry = grouped.setdefault(surroundings, {"commands": [], "count": 0, "codes": set(), "faults": 0})
        if command not in entry["commands"]:
            entry["commands"].append(command)
        entry["count"] += count
        entry["codes"] |= codes
        entry["faults"] += len(faults)
    print(f"{'surroundings':<24}{'runs':>5}{'faults':>8}  {'exit codes':<22}commands")
    for surroundings, entry in grouped.items():
        codes = " ".join(str(code) for code in sorted(entry["codes"]))
        commands = "all" if len(entry["commands"]) == len(COMMANDS) else " ".join(entry["commands"])
        print(f"{surroundings:<24}{entry['count']:>5}{entry['faults']:>8}  {codes:<22}{commands}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PIPESIM", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--only", default="", help="surroundings that contain this word")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    rows = []
    with tempfile.TemporaryDirectory(prefix="pipesim-abuse-") as temporary:
        root = pathlib.Path(temporary)
        root.chmod(0o755)
        bench = Bench(arguments.program, root)
        folder = bench.folder()
        subprocess.run([arguments.program, "predict", *EMULATED, "--no-save", "--export", "json=before.json"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bench.report = (folder / "before.json").read_bytes()
        cases = [*descriptors(), *limits(), *states(), *signals(chance, 6 if arguments.long else 1)]
        cases = [case for case in cases if arguments.only in case.surroundings]
        if not nobody_may_run(arguments.program):
            print("left out: what needs another user, who may not read the program")
            cases = [case for case in cases if not case.nobody]
        # Most of them wait, for a device or to be stopped.
        with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            for case, (faults, code) in zip(cases, pool.map(bench.run, cases)):
                rows.append((case.surroundings, case.command, 1, {code}, faults))
        if not arguments.only:
            rows += beside_itself(bench)
            rows += resumed(bench, chance, 12 if arguments.long else 4)
    table(rows)
    faults = [(row[0], row[1], fault) for row in rows for fault in row[4]]
    for surroundings, command, fault in faults:
        print(f"WRONG  {surroundings}, {command}: {fault}")
    print(f"{sum(row[2] for row in rows)} commands, {len(faults)} faults, seed {arguments.seed}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
