"""Runs of pipesim kept in a file as they end: an interrupted measurement goes on where it stopped.

Each line of the file is one run: its words, its round, and the parts of its report that the tools judge.
"""

import json
import pathlib
import time

from commands import Answer, shell

KEPT = ("pipesim", "context", "effective", "result", "consumer", "device", "workers", "demands", "pin", "transfer", "diagnosis",
        "warnings", "memory", "resources", "proof")


class OutOfTime(Exception):
    """The next run would not end within the limit."""


class MeasuredRuns:
    """Calls pipesim once for each command and round, and never again: runs in the file are not repeated."""

    def __init__(self, pipesim, file, resume=(), limit_s=None, begin_s=None):
        """`begin_s`: when the limit began, by time.monotonic(); now where it is None."""
        self.pipesim, self.file, self.limit_s = pipesim, pathlib.Path(file), limit_s
        self.begin_s = time.monotonic() if begin_s is None else begin_s
        self.kept, self.took_s = {}, []
        for path in resume:
            self.read(pathlib.Path(path))
        self.given = set(self.kept)
        self.read(self.file)
        self.file.parent.mkdir(parents=True, exist_ok=True)

    def read(self, path):
        if not path.exists():
            return
        for text in path.read_text().splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # cut off when the measurement was killed
            if line["report"]:  # one that failed is tried again
                self.kept[key(line["words"], line["round"])] = line
                self.took_s.append(line["wall_s"])

    def __call__(self, words, number=0):
        """The run's answer; `number` tells repeats apart. A run that failed is an answer, too, for this call."""
        if key(words, number) not in self.kept:
            self.measure(words, number)
        line = self.kept[key(words, number)]
        return Answer(line["words"], line["code"], line["report"], line["cpu_s"], line["errors"])

    def known(self, words, number=0):
        return key(words, number) in self.kept

    def measure(self, words, number):
        # Half as long again as the longest so far: runs differ by what they load and by their probes.
        expected_s = 1.5 * max(self.took_s[-20:], default=10)
        if self.limit_s is not None and time.monotonic() - self.begin_s + expected_s > self.limit_s:
            raise OutOfTime
        begin = time.monotonic()
        answer = self.pipesim(words)
        report = answer.report and answer.report.get("result") and {name: answer.report.get(name) for name in KEPT}
        line = {"words": list(words), "round": number, "code": answer.code, "cpu_s": answer.cpu_s,
                "wall_s": round(time.monotonic() - begin, 2), "errors": answer.errors[-2000:], "report": report}
        with self.file.open("a") as out:
            out.write(json.dumps(line) + "\n")
        self.kept[key(words, number)] = line
        self.took_s.append(line["wall_s"])

    def rates(self):
        """{words: samples/s of each round} of the runs that finished, in the order in which they were made."""
        return rates_of(self.kept.values())

    def given_rates(self):
        """The same of the runs that were made before: those of `resume`."""
        return rates_of(line for known, line in self.kept.items() if known in self.given)


def rates_of(lines):
    found = {}
    for line in lines:
        if line["report"] and line["report"]["result"]["samples_per_s"] is not None:
            found.setdefault(tuple(line["words"]), []).append(line["report"]["result"]["samples_per_s"])
    return found


def key(words, number):
    return shell(words), number
