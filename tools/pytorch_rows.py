"""Measured programs beside their predictions, as values: what the tables of tools/check_pytorch are made of."""

import dataclasses
import statistics

from summaries import variation

MEAN_LIMIT = {"recording": 0.05, "description": 0.10}
P95_LIMIT = 0.12
NOISE_COUNTS = {"recording"}  # where twice the run-to-run variation is allowed, if that is more
NEAR_BEST = 0.97


@dataclasses.dataclass
class Row:
    """One program, predicted on one basis."""

    program: str
    rounds: dict      # workers -> the measured rates
    predicted: dict   # workers -> rate
    basis: str
    recorded_at: tuple = ()  # workers that the recording has seen, which is no prediction

    @property
    def rates(self):
        """{workers: median of the measured rates}."""
        return {workers: statistics.median(each) for workers, each in self.rounds.items()}

    @property
    def half(self):
        return self.program.split(".")[0]

    def errors(self):
        """{workers: error}, without what was recorded."""
        return {workers: self.predicted[workers] / rate - 1 for workers, rate in self.rates.items()
                if workers in self.predicted and workers not in self.recorded_at}

    def cvs(self):
        return [variation(each) for each in self.rounds.values() if len(each) > 1]

    def rounds_apart(self):
        """How far the first round lies from the last one, where there are errors."""
        errors = self.errors()
        return [abs(each[0] / each[-1] - 1) for workers, each in self.rounds.items()
                if workers in errors and len(each) > 1]

    def best_is_right(self):
        """The best predicted worker count is a neighbour of the truly best one, or as good within 3 %."""
        rates, counts = self.rates, sorted(set(self.rounds) & set(self.predicted))
        true, said = (max(counts, key=of.get) for of in (rates, self.predicted))
        return abs(counts.index(true) - counts.index(said)) <= 1 or rates[said] >= NEAR_BEST * rates[true]


def recorded_at(cores):
    """Of a recording on so many: 0, 1 and 2 workers, and its many (python/pipesim/trials.py)."""
    return (0, 1, 2, min(8, 2 * max(2, cores)))


def rows_of(measured, basis):
    seen = recorded_at(measured["context"]["cores"]) if basis == "recording" else ()
    for program, entry in sorted(measured["programs"].items()):
        rounds = {int(workers): [each["samples_per_s"] for each in answers if "samples_per_s" in each]
                  for workers, answers in entry["rates"].items()}
        rounds = {workers: each for workers, each in rounds.items() if each}
        predicted = {int(workers): each["samples_per_s"]
                     for workers, each in entry.get("predicted", {}).get(basis, {}).items() if "samples_per_s" in each}
        if rounds and predicted:
            yield Row(program, rounds, predicted, basis, seen)


def per_cent(share):
    return f"{100 * share:.1f} %"
