"""How far predictions are from the measured programs: the tables of tools/check_pytorch."""

import json
import statistics

import pytorch_watched
import sections
from pytorch_predict import constants
from pytorch_rows import MEAN_LIMIT, NOISE_COUNTS, P95_LIMIT, per_cent, recorded_at, rows_of
from summaries import percentile

HALVES = {"fit": "fit", "held_out": "held out", "gpu": "on a GPU"}


def summary(name, rows):
    errors = [abs(error) for row in rows for error in row.errors().values()]
    if not errors:
        return ""
    cvs = [each for row in rows for each in row.cvs()]
    cv = statistics.mean(cvs) if cvs else 0.0
    apart = [each for row in rows for each in row.rounds_apart()]
    noise = (f"{per_cent(statistics.mean(apart))}, {per_cent(statistics.median(apart))}, "
             f"{per_cent(percentile(apart, 0.95))}") if apart else ""
    basis = rows[0].basis
    allowed = max(MEAN_LIMIT[basis], 2 * cv if basis in NOISE_COUNTS else 0.0)
    right = sum(row.best_is_right() for row in rows)
    return (f"| {name} | {len(rows)} | {len(errors)} | {per_cent(statistics.mean(errors))} | "
            f"{per_cent(allowed)} | {per_cent(statistics.median(errors))} | "
            f"{per_cent(percentile(errors, 0.95))} | {per_cent(P95_LIMIT)} | {per_cent(cv)} | {noise} | "
            f"{right} of {len(rows)} |\n")


def summaries(by_basis):
    text = ("| predicted from | programs | predictions | mean error | allowed | median | 95th percentile | allowed | "
            "run-to-run variation (CV) | the first round from the last: mean, median, 95th percentile | "
            "best worker count right |\n"
            "|---|---|---|---|---|---|---|---|---|---|---|\n")
    for basis, rows in by_basis.items():
        for half, name in HALVES.items():
            text += summary(f"a {basis}, {name}", [row for row in rows if row.half == half])
    return text


def mean_error(row):
    return statistics.mean(abs(error) for error in row.errors().values())


def listing(rows):
    counts = sorted({workers for row in rows for workers in row.rates})
    text = ("| program | mean error | best, said | " + " | ".join(f"{each} workers" for each in counts) + " |\n" +
            "|---|---|---|" + "---|" * len(counts) + "\n")
    for row in sorted((row for row in rows if row.errors()), key=mean_error, reverse=True):
        shared = [workers for workers in counts if workers in row.rates and workers in row.predicted]
        best, said = (max(shared, key=of.get) for of in (row.rates, row.predicted))
        errors = row.errors()
        cells = [f"{row.rates[each]:,.0f} {100 * errors[each]:+.0f} %" if each in errors else
                 f"{row.rates[each]:,.0f}" if each in row.rates else "" for each in counts]
        text += f"| {row.program} | {per_cent(mean_error(row))} | {best}, {said} | {' | '.join(cells)} |\n"
    return text


def misses(by_basis):
    """The programs that miss by more than the limit somewhere, with the reason that they state themselves."""
    text = ""
    for program in sorted({row.program for rows in by_basis.values() for row in rows
                           if any(abs(error) > P95_LIMIT for error in row.errors().values())}):
        text += f"- {program}: {constants(program).get('KNOWN_MISS', 'not explained yet')}\n"
    return text


def failures(measured):
    for program, entry in sorted(measured["programs"].items()):
        for basis, answers in entry.get("predicted", {}).items():
            failed = [answer["failed"] for answer in answers.values() if "failed" in answer]
            if failed:
                yield f"{program}, {basis}: {failed[0]}"
        for part in ("record", "watch"):
            if "failed" in entry.get(part, {}):
                yield f"{program}, {part}: {entry[part]['failed']}"


def seen_workers(about):
    *first, last = recorded_at(about["cores"])
    return f"{', '.join(map(str, first))} and {last}"


def document_of_gpu(measured, by_basis):
    about, rows = measured["context"], by_basis["recording"]
    return f"""## real PyTorch programs on a GPU

Written by `tools/check_pytorch` (`measure --gpu --record`): the {len(measured['programs'])} programs of
`tests/pytorch/programs/gpu`, which train on a GPU ({about['gpu']}, {about['processors']} cores of {about['cpu']}, PyTorch
{about['torch']}, {about['date']}). Error as in the section above; the recordings saw {seen_workers(about)} workers.

{summaries({"recording": rows})}
{listing(rows)}"""


def document(measured, by_basis):
    about = measured["context"]
    if about.get("gpu"):
        return document_of_gpu(measured, by_basis)
    text = f"""## real PyTorch programs

Written by `tools/check_pytorch`: the {len(measured['programs'])} `DataLoader` programs of `tests/pytorch/programs`,
measured with PyTorch {about['torch']} on {about['cores']} processors each of a machine with {about['processors']}
({about['cpu']}), {about['slices']} side by side, {about['date']}. The error is predicted rate / median measured
rate - 1. A recording was made between the rounds of its program's rates and saw {seen_workers(about)} workers; only the other worker counts are predictions. "Held out" programs
were written before the model was fitted; causes of their misses have been looked for since this table was first made.
Figures in the causes are those of the measurement in which they were found.
The best worker count is right if it is the true best or its neighbour, or within 3 % of its rate.

{summaries(by_basis)}
"""
    missed = misses(by_basis)
    if missed:
        text += f"Programs with an error above {per_cent(P95_LIMIT)} at some worker count:\n\n{missed}\n"
    for basis, rows in by_basis.items():
        if rows:
            text += f"Predicted from a {basis}; measured samples/s and the prediction's error:\n\n{listing(rows)}\n"
    return text + pytorch_watched.table(measured)


def table(arguments):
    measured = json.loads(arguments.predicted.read_text())
    by_basis = {basis: list(rows_of(measured, basis)) for basis in MEAN_LIMIT}
    for text in failures(measured):
        print(text)
    text = document(measured, by_basis)
    print(text)
    if arguments.docs:
        sections.write(arguments.docs, "pytorch gpu" if measured["context"].get("gpu") else "pytorch", text)
