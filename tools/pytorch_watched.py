"""What pipesim.watch said about real training loops, beside what is true: a table of tools/check_pytorch."""

import statistics

from pytorch_rows import per_cent

SAME_CEILING = 0.03
KEPT_POINTS = 0.10
# A gain counts above 5 % (the rule of the verdicts); as far as rates are measured, this far from it either may be said.
THRESHOLD, MARGIN = 0.05, 0.03


def true_verdicts(more, fewer, ceiling):
    """The verdicts that measured gains allow: of the best larger and smaller worker count, and of cached batches."""
    allowed = set()
    if more > THRESHOLD - MARGIN:
        allowed.add("loader-bound")
    if fewer > THRESHOLD - MARGIN:
        allowed.add("cpu-contention")
    if max(more, fewer) < THRESHOLD + MARGIN:
        if ceiling > THRESHOLD - MARGIN:
            allowed |= {"cpu-bound", "io-bound", "host-bound"}
        if ceiling < THRESHOLD + MARGIN:
            allowed |= {"compute-bound", "balanced"}
    return allowed


def gains(entry):
    """(of the best larger worker count, of the best smaller one, of cached batches) over the program as it was watched."""
    watch, rates = entry["watch"], {}
    for workers, answers in entry["rates"].items():
        good = [answer["samples_per_s"] for answer in answers if "samples_per_s" in answer]
        if good:
            rates[int(workers)] = statistics.median(good)
    now = rates[watch["workers"]]
    more = max((rate for workers, rate in rates.items() if workers > watch["workers"]), default=now)
    fewer = max((rate for workers, rate in rates.items() if workers < watch["workers"]), default=now)
    return more / now - 1, fewer / now - 1, watch["replayed_steps_per_s"] / watch["steps_per_s"] - 1


def row(program, entry):
    watch, promise = entry["watch"], entry["watch"].get("promise")
    more, fewer, ceiling = gains(entry)
    allowed = true_verdicts(more, fewer, ceiling)
    off = watch["ceiling_steps_per_s"] / watch["replayed_steps_per_s"] - 1
    kept = promise and abs(promise["gain"] - promise["promised_gain"]) <= KEPT_POINTS * max(1, 1 + promise["gain"])
    text = (f"| {program} | {watch['workers']} | {watch.get('verdict', 'no advice')} | "
            f"{'right' if watch.get('verdict') in allowed else 'wrong: ' + ' or '.join(sorted(allowed))} | "
            f"{100 * more:+.0f} % | {100 * fewer:+.0f} % | {watch['ceiling_steps_per_s']:,.1f} | "
            f"{watch['replayed_steps_per_s']:,.1f} | {100 * off:+.1f} % | ")
    text += (f"{promise['workers']}, {promise['prefetch_factor']} | {100 * promise['promised_gain']:+.0f} % | "
             f"{100 * promise['gain']:+.0f} % |\n" if promise else "- | - | - |\n")
    return text, watch.get("verdict") in allowed, abs(off) <= SAME_CEILING, bool(kept)


def table(measured):
    """The section's text, empty where nothing was watched."""
    found = {program: entry for program, entry in sorted(measured["programs"].items())
             if "steps_per_s" in entry.get("watch", {}) and entry["rates"]}
    if not found:
        return ""
    rows = [row(program, entry) for program, entry in found.items()]
    right, same, kept = (sum(each[i] for each in rows) for i in (1, 2, 3))
    return (
        f"`pipesim.watch(loader, probe=True)` in the training loops of {len(rows)} programs: verdict right {right}, ceiling "
        f"within {per_cent(SAME_CEILING)} of DALI's Loader Evaluator's method (replaying cached batches) {same}, promised "
        f"gain measured within 10 points or 10 % of the rate {kept}.\n\n"
        "| program | workers | verdict | | more workers bring | fewer | ceiling of watch, steps/s | replayed | off | "
        "promised: workers, prefetch | gain | measured |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        + "".join(each[0] for each in rows))
