#!/usr/bin/env python3
"""What torch.utils.data.DataLoader does, case by case, as JSON on stdout: which worker every batch is
dealt to and when, and the order in which batches are yielded. dataloader_test.cc compares pipesim.

No case depends on time. A batch is one call of __getitems__, which is held until it may end: in order,
a batch may have to wait until a later one is made; out of order, the consumer lets one batch end at a
time, chosen among those that the workers have in hand. So the record is the same on any machine.

What has been dealt is read from the iterator's own books (_task_info, _send_idx); in order it is checked
against what the workers really began. Exit code 77: no record can be made here; stderr says why.
"""

import inspect
import itertools
import json
import multiprocessing
import random
import sys
import time
import warnings

try:
    import torch
    from torch.utils.data import DataLoader, Dataset, get_worker_info
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)

BATCH_SIZE = 2
SAMPLES = 15  # 8 batches, the last of one sample; 7 with drop_last: neither divides by 2 and 3 both
EPOCHS = 2
# In order, batch 0 ends after 1 and 3 after 4: made out of turn, they must be yielded in turn.
ENDS_AFTER = {0: 1, 3: 4}
PATIENCE_S = 20


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE_S} s until {what}")
        time.sleep(0.0005)


class Batches(Dataset):
    """Counts, per batch index, how often it was begun and made; a worker's memory is shared."""

    def __init__(self, in_order, workers):
        self.in_order, self.workers = in_order, workers
        count = -(-SAMPLES // BATCH_SIZE)
        self.begun, self.made, self.released = (multiprocessing.RawArray("i", count) for _ in range(3))

    def __len__(self):
        return SAMPLES

    def __getitems__(self, samples):
        index = samples[0] // BATCH_SIZE
        self.begun[index] += 1
        wait_until(lambda: self.may_end(index), f"batch {index} may end")
        self.made[index] += 1
        return [index, get_worker_info().id]

    def may_end(self, index):
        epoch = self.begun[index]
        if not self.in_order:
            return self.released[index] == epoch
        return self.workers == 1 or index not in ENDS_AFTER or self.made[ENDS_AFTER[index]] == epoch


def record_epoch(loader, dataset, choose):
    iterator = iter(loader)
    known = 0

    def newly_dealt():
        nonlocal known
        deals = [[index, iterator._task_info[index][0]] for index in range(known, iterator._send_idx)]
        known = iterator._send_idx
        return deals

    epoch = {"dealt_at_start": newly_dealt(), "taken": []}
    for _ in range(len(loader)):
        if not dataset.in_order:
            in_hand = {}
            for index, info in sorted(iterator._task_info.items()):
                in_hand.setdefault(info[0], index)
            dataset.released[choose(in_hand)] += 1
        index, worker = next(iterator)
        dealt = newly_dealt()
        if dataset.in_order:
            begun = dataset.begun[0]
            wait_until(lambda: list(dataset.begun).count(begun) == known, "all that was dealt is begun")
        epoch["taken"].append({"index": index, "worker": worker, "dealt": dealt})
    time.sleep(0.02)  # time to do what must not be done: begin the next epoch
    epoch["begun_at_end"] = list(dataset.begun)[: len(loader)]
    if next(iterator, None) is not None:
        raise AssertionError("an epoch had more batches than its length")
    return epoch


def record(workers, prefetch_factor, drop_last, persistent_workers, choose=None):
    dataset = Batches(choose is None, workers)
    loader = DataLoader(
        dataset, BATCH_SIZE, num_workers=workers, prefetch_factor=prefetch_factor, drop_last=drop_last,
        persistent_workers=persistent_workers, in_order=choose is None, collate_fn=list,
        multiprocessing_context="fork",
    )
    return {
        "workers": workers, "prefetch_factor": prefetch_factor, "drop_last": drop_last,
        "persistent_workers": persistent_workers, "in_order": choose is None, "samples": SAMPLES,
        "batch_size": BATCH_SIZE, "ends_after": sorted(ENDS_AFTER.items()) if workers > 1 else [],
        "epochs": [record_epoch(loader, dataset, choose) for _ in range(EPOCHS)],
    }


def worker_0_is_slow(in_hand):
    return in_hand[max(in_hand)]


def main():
    cases = [
        record(workers, prefetch, drop_last, persistent)
        for workers, prefetch, (drop_last, persistent) in itertools.product(
            (1, 2, 3), (1, 2, 3), ((False, False), (True, False), (False, True))
        )
    ]
    for workers, prefetch in itertools.product((1, 2, 3), (1, 2, 3)):
        at_random = random.Random(10 * workers + prefetch)
        for choose in (worker_0_is_slow, lambda in_hand: at_random.choice(sorted(in_hand.values()))):
            cases.append(record(workers, prefetch, False, prefetch == 2, choose))
    json.dump({"torch": torch.__version__, "cases": cases}, sys.stdout)


def is_known():
    """This PyTorch has in_order (2.6 and later), and keeps the books that are read here."""
    books = iter(DataLoader([0], num_workers=1, multiprocessing_context="fork"))
    return "in_order" in inspect.signature(DataLoader).parameters and all(
        hasattr(books, name) for name in ("_task_info", "_send_idx")
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of more workers than processors: here they only wait
    if not is_known():
        sys.exit(print(f"PyTorch {torch.__version__}: its DataLoader is not one this script knows", file=sys.stderr) or 77)
    main()
