"""What pipesim.watch said about real training loops, beside what is true: a table of tools/check_pytorch."""

import statistics

from pytorch_rows import per_cent

SAME_CEILING = 0.03
KEPT_POINTS = 0.10
# A gain counts above 5 % (the rule of the verdicts); as far as rates are measured, this far from it either may be said.
THRESHOLD, MARGIN = 0.05, 0.03
# Gains nearer to each other tie: either may name the class.
TIE = 0.05


def true_verdicts(more, fewer, free_data, free_steps):
    """The verdicts that measured gains allow, by docs/verdicts.md: a setting comes first (the best larger and smaller
    worker count), then whichever gains more: free data (cached batches) or free steps (the loader without training)."""
    allowed = set()
    if more > THRESHOLD - MARGIN:
        allowed.add("loader-bound")
    if fewer > THRESHOLD - MARGIN:
        allowed.add("cpu-contention")
    if max(more, fewer) < THRESHOLD + MARGIN:
        if free_data > THRESHOLD - MARGIN and free_data > free_steps - TIE:
            allowed |= {"cpu-bound", "io-bound", "host-bound"}
        if free_steps > free_data - TIE:
            allowed.add("compute-bound")
        if max(free_data, free_steps) < THRESHOLD + MARGIN:
            allowed.add("balanced")
    return allowed


def gains(entry):
    """(of the best larger worker count, of the best smaller one, of cached batches, of no steps) over the program as it
    is."""
    watch, rates = entry["watch"], {}
    for workers, answers in entry["rates"].items():
        good = [answer["samples_per_s"] for answer in answers if "samples_per_s" in answer]
        if good:
            rates[int(workers)] = statistics.median(good)
    now = rates[watch["workers"]]
    more = max((rate for workers, rate in rates.items() if workers > watch["workers"]), default=now)
    fewer = max((rate for workers, rate in rates.items() if workers < watch["workers"]), default=now)
    free_data, free_steps = (watch[name] / watch["now_steps_per_s"]
                             for name in ("replayed_steps_per_s", "alone_steps_per_s"))
    return more / now - 1, fewer / now - 1, free_data - 1, free_steps - 1


def is_kept(promised, measured):
    """A promise to the point, or to a tenth of the rate that it names."""
    return abs(promised - measured) <= KEPT_POINTS * max(1, 1 + measured)


def settings_text(promise):
    text = f"{promise['workers']}, {promise['prefetch_factor']}" if promise["workers"] else "0"
    return text + (f", {promise['threads']} thread" if promise.get("threads") else "")


def row(program, entry):
    watch, promise = entry["watch"], entry["watch"].get("promise")
    more, fewer, free_data, free_steps = gains(entry)
    if promise and promise.get("threads"):
        fewer = max(fewer, promise["gain"])
    allowed = true_verdicts(more, fewer, free_data, free_steps)
    off = watch["ceiling_steps_per_s"] / watch["replayed_steps_per_s"] - 1
    replays = watch["turns"]["replayed"]
    # The report says to keep the loader: no other worker count may gain much.
    promised, measured = (promise["promised_gain"], promise["gain"]) if promise else (0, max(0, more, fewer))
    settings = settings_text(promise) if promise else "keep"
    text = (f"| {program} | {watch['workers']} | {watch.get('verdict', 'no advice')} | "
            f"{'right' if watch.get('verdict') in allowed else 'wrong: ' + ' or '.join(sorted(allowed))} | "
            f"{100 * more:+.0f} % | {100 * fewer:+.0f} % | {100 * free_data:+.0f} % | {100 * free_steps:+.0f} % | "
            f"{watch['ceiling_steps_per_s']:,.1f} | {watch['replayed_steps_per_s']:,.1f} "
            f"({min(replays):,.1f} to {max(replays):,.1f}) | {100 * off:+.1f} % | "
            f"{settings} | {100 * promised:+.0f} % | {100 * measured:+.0f} % |\n")
    return text, watch.get("verdict") in allowed, abs(off) <= SAME_CEILING, is_kept(promised, measured)


def table(measured):
    """The section's text, empty where nothing was watched."""
    found = {program: entry for program, entry in sorted(measured["programs"].items())
             if "alone_steps_per_s" in entry.get("watch", {}) and entry["rates"]}
    if not found:
        return ""
    rows = [row(program, entry) for program, entry in found.items()]
    right, same, kept = (sum(each[i] for each in rows) for i in (1, 2, 3))
    return (
        f"`pipesim.watch(loader, probe=True)` in the training loops of {len(rows)} programs: verdict right {right}, "
        f"ceiling within {per_cent(SAME_CEILING)} of DALI's Loader Evaluator's method (replaying cached batches) "
        f"{same}, promised gain measured within 10 points or 10 % of the rate {kept}. Free data are cached batches, "
        "free steps the loader without training; both and the gain are medians of five turns, each in a process of its "
        "own. Where watch says to keep the loader, the best other worker count is what it is held against.\n\n"
        "| program | workers | verdict | | more workers bring | fewer | free data | free steps | ceiling of watch, "
        "steps/s | replayed | off | promised: workers, prefetch | gain | measured |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n" + "".join(each[0] for each in rows))
