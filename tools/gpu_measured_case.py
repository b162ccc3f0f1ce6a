"""One configuration on a GPU, measured: its runs, the changes made for real, and the classes that their gains allow.

The order is that of docs/verdicts.md: loader settings and fewer threads first; where none gains, each part is made free
for real. A device that takes no time frees all of the device's side; a device that takes only the step's own time frees
launches, copies, waits for results and the host's work beside them. Where that gains, a graph, pinned memory and unread
results tell these apart.
"""

import collections
import dataclasses
import statistics

from commands import changed, recommended_settings
from real_cases import COUNTS, Promise, Range

NOT_HERE = ("limits.cpus", "device")
FREE_DEVICE = {"device": "{emulated: {base: 1us}}"}
SETTINGS = ("loader-bound", "cpu-contention")
DEVICE_SIDE = ("launch-bound", "h2d-bound", "sync-bound", "host-bound")
MOST_TRUTHS = 2  # a configuration whose measured gains allow more classes decides nothing
CLOSE = 0.10     # a later round repeats changes whose rate is this near to the best


# Which class a recommended setting eases; others (batch size, another device) decide nothing.
EASES = {"loader.prefetch_factor": "loader-bound", "loader.dispatch": "loader-bound", "loader.in_order": "loader-bound",
         "loader.persistent_workers": "loader-bound", "limits.compute_threads": "cpu-contention",
         "limits.worker_threads": "cpu-contention", "limits.omp_wait": "cpu-contention", "model.cuda_graph": "launch-bound",
         "model.sync_every": "sync-bound", "loader.pin_memory": "h2d-bound", "loader.collate_into": "h2d-bound",
         "transfer.overlap": "h2d-bound", "transfer.non_blocking": "h2d-bound"}


@dataclasses.dataclass
class Change:
    verdict: str   # "" where it decides nothing; "device" and "not the step": see device_truths
    settings: dict


def promise_of(answer):
    """What the report recommends, if this machine can make it: no other cores, no other device."""
    settings, recommended = recommended_settings(answer), answer.diagnosis.get("recommendation")
    if not settings or recommended["gain"] is None or any(key.startswith(NOT_HERE) for key in settings):
        return None
    return Promise(recommended["text"], settings, recommended["gain"], recommended["samples_per_s"],
                   answer.diagnosis["confidence"], True)


def class_of(settings, workers):
    """The class that all of the settings ease, "" where they ease several."""
    found = {EASES.get(key, "") for key in settings if key != "loader.workers"}
    if "loader.workers" in settings:
        found.add("loader-bound" if int(settings["loader.workers"]) > workers else "cpu-contention")
    return found.pop() if len(found) == 1 else ""


@dataclasses.dataclass
class Case:
    """A configuration's runs."""

    name: str
    command: list
    said: str = ""
    confidence: str = ""
    promise: Promise = None
    truths: tuple = ()
    rates: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    changes: dict = dataclasses.field(default_factory=dict)  # {name: Change}
    failed: list = dataclasses.field(default_factory=list)   # changes that did not run, with the reason

    @property
    def decided(self):
        return 0 < len(self.truths) <= MOST_TRUTHS

    @property
    def right(self):
        return self.said in self.truths

    def gain(self, name):
        return statistics.median(self.rates[name]) / statistics.median(self.rates["base"]) - 1

    def range(self, name):
        return Range.of(self.rates[name], self.rates["base"])

    def ranges(self, *verdicts):
        """{name: Range} of the changes of these classes that ran."""
        return {name: self.range(name) for name, change in self.changes.items()
                if change.verdict in verdicts and self.rates[name]}


class Measuring:
    """Makes the runs of one configuration."""

    def __init__(self, runs, configuration, device, seconds):
        self.runs, self.configuration = runs, configuration
        self.case = Case(configuration.name, ["run", *configuration.words, "--device", device, "--duration", f"{seconds:g}s"])
        self.first = None

    def run(self, name, number):
        """The rate of a change in one round; one that fails is noted and left."""
        case = self.case
        settings = {} if name == "base" else case.changes[name].settings
        answer = self.runs(changed(case.command, settings), number)
        if not answer.rate:  # None, or no sample in the measured time
            why = answer.errors.strip() or (f"exit code {answer.code}" if answer.code else "no sample in the measured time")
            case.failed.append((name, why.splitlines()[0].removeprefix("pipesim: ")[:200]))
            return None
        case.rates[name].append(answer.rate)
        return answer

    def add(self, verdict, settings):
        """A change, under a name of its settings; the same settings are measured once."""
        name = ", ".join(f"{key}={value}" for key, value in settings.items())
        if name not in self.case.changes or not self.case.changes[name].verdict:
            self.case.changes[name] = Change(verdict, settings)
        return name

    def begin(self):
        """The configuration as it is, and what its report recommends; False where it does not run."""
        self.first = self.run("base", 0)
        if self.first is None:
            return False
        self.case.said, self.case.confidence = self.first.verdict, self.first.diagnosis["confidence"]
        self.case.promise = promise_of(self.first)
        return True

    def make_changes(self):
        """Makes the changes that can still decide, each once; call again where another round has changed what is sure."""
        wanted = self.configuration
        if self.case.promise:
            settings = self.case.promise.settings
            self.run_new(class_of(settings, self.first.report["effective"]["workers"]), settings)
        for verdict, changes in wanted.settings.items():
            for settings in changes:
                self.run_new(verdict, settings)
        if settings_gain(self.case).low >= COUNTS:
            return
        for verdict, settings in wanted.demands.items():
            self.run_new(verdict, settings)
        self.run_new("device", FREE_DEVICE)
        step_s = self.first.report["demands"]["step_s"]
        if not step_s:
            self.case.failed.append(("nothing but the step", "the step's own time is not known"))
        else:
            # A stated cost has no copies, no launches and no host work.
            base_ns = max(1, round(step_s * 1e9))
            self.run_new("not the step", {"device": f"{{emulated: {{base: {base_ns}ns}}}}", "loader.pin_memory": "false",
                                          "model.sync_every": "0"})
        if not step_s or any(each.high >= COUNTS for each in self.case.ranges("not the step").values()):
            for verdict, changes in wanted.remedies.items():
                for settings in changes:
                    self.run_new(verdict, settings)

    def run_new(self, verdict, settings):
        """Runs a change for the first time."""
        known = set(self.case.changes)
        name = self.add(verdict, settings)
        if name not in known:
            self.run(name, 0)

    def later_round(self, number):
        self.run("base", number)
        for name in those_that_matter(self.case):
            self.run(name, number)


def settings_gain(case):
    """What loader settings or fewer threads gain."""
    best = Range()
    for each in case.ranges(*SETTINGS).values():
        best = best.or_more(each)
    return best


def those_that_matter(case):
    """The recommended change, those whose gain is near to the best one, those that may or may not count, and settings that
    count: they decide before all others, and nothing decides by a single run."""
    gains = {name: case.gain(name) for name, change in case.changes.items() if case.rates[name]}
    best = max(gains.values(), default=0)
    promised = case.promise and case.promise.settings
    for name, gain in gains.items():
        near = best >= COUNTS and (1 + gain) >= (1 + best) * (1 - CLOSE)
        known = case.range(name)
        unsure = known.low < COUNTS <= known.high
        decides = known.low >= COUNTS and case.changes[name].verdict in SETTINGS
        if near or unsure or decides or case.changes[name].settings == promised:
            yield name


def truths_of(case, turns):
    """The classes that the measured gains allow."""
    surely = settings_gain(case).low
    found = []
    for verdict in SETTINGS:
        high = max((each.high for each in case.ranges(verdict).values()), default=0)
        if high >= max(COUNTS, surely):
            found.append(verdict)
    if surely >= COUNTS:
        return tuple(found)
    best = {verdict: each for verdict in ("io-bound", "cpu-bound") for each in case.ranges(verdict).values()}
    best.update(device_truths(case, turns))
    surely = max([each.low for each in best.values()], default=0)
    if surely < COUNTS:
        found.append("balanced")
    return tuple(found + [verdict for verdict, each in best.items() if each.high >= max(COUNTS, surely)])


def device_truths(case, turns):
    """{class: Range} of the device's side. A free device frees all of it; a device that takes only the step's time frees
    launches, copies, waits for results and the host's work beside them."""
    all_free = next(iter(case.ranges("device").values()), Range())
    not_step = next(iter(case.ranges("not the step").values()), Range(0, all_free.high))
    found = {}
    if not_step.high >= COUNTS:
        for verdict in DEVICE_SIDE:
            remedies = list(case.ranges(verdict).values())
            best = Range(max((each.low for each in remedies), default=0), max((each.high for each in remedies), default=0))
            if verdict == "h2d-bound" and best.high >= COUNTS:
                best = Range(best.low, max(best.high, not_step.high))  # pinned copies are faster, not free
            found[verdict] = best
        if all(each.high < COUNTS for each in found.values()):
            found = {verdict: Range(0, not_step.high) for verdict in DEVICE_SIDE}
    if not_step.low < COUNTS:
        # A free device frees launches, too: where these may count, a free step alone gains what they leave, or nothing.
        found["compute-bound"] = all_free if not_step.high < COUNTS else Range(min(COUNTS, all_free.low), all_free.high)
    elif turns and not_step.low > 0:
        # Host and device in turns: the cycle is the step, 1 / (1 + gain), and the rest.
        step = 1 / (1 + not_step.low)
        found["compute-bound"] = Range(0, step / (1 - step))
    return found


def measure(runs, configuration, device, seconds, rounds):
    """A configuration's case, with what was measured; raises OutOfTime where a run is missing."""
    measuring = Measuring(runs, configuration, device, max(seconds, configuration.least_s))
    case = measuring.case
    if not measuring.begin():
        return case
    measuring.make_changes()
    for number in range(1, rounds):
        measuring.later_round(number)
        measuring.make_changes()
    if case.promise:
        name = measuring.add("", case.promise.settings)
        if case.rates[name]:
            case.promise.measured, case.promise.measured_rate = case.gain(name), statistics.median(case.rates[name])
        else:
            case.promise = None
    case.truths = truths_of(case, configuration.turns)
    return case
