"""Runs the user's loader as it is and with tuned settings in turn, and says whether the promise came
true. The loader runs in this process, with the step if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from torch.utils.data import DataLoader

from . import probes
from .answers import DOUBTFUL_MISS
from .apart import Progress
from .gpu import FewBehind
from .program import Tuned
from .step import threads_set
from .trials import is_iterable

ROUNDS = 3
ROUND_S = 3.0
# A promise counts as kept where the real gain reaches this share of the promised factor.
KEPT = 0.9


@dataclass
class Checked:
    now_per_s: float
    tuned_per_s: float
    tuned: Tuned

    @property
    def gain(self) -> float:
        return self.tuned_per_s / self.now_per_s - 1

    @property
    def kept(self) -> bool:
        return 1 + self.gain >= KEPT * (1 + self.tuned.gain)

    @property
    def settings(self) -> str:
        text = f"num_workers={self.tuned.workers}"
        if self.tuned.workers > 0:
            text += f", prefetch_factor={self.tuned.prefetch_factor}"
            text += ", persistent_workers=True" * self.tuned.persistent
        return text + (f", torch.set_num_threads({self.tuned.threads})" if self.tuned.threads else "")

    def text(self) -> str:
        verdict = "The promise came true" if self.kept else "The promise did NOT come true"
        text = (
            f"{verdict}: {self.gain:+.0%} measured, {self.tuned.gain:+.0%} promised\n"
            f"  as it is {self.now_per_s:,.4g} samples/s (predicted {self.tuned.now_per_s:,.4g}), "
            f"{self.settings} {self.tuned_per_s:,.4g} (predicted {self.tuned.tuned_per_s:,.4g})\n"
        )
        off = self.tuned.now_per_s / self.now_per_s - 1
        if abs(off) > DOUBTFUL_MISS:
            text += (
                f"Warning: the loader as it is was predicted {off:+.0%} off what it does, so a promise from that is no "
                "proof: other\n  programs ran meanwhile, or it costs something that a recording does not see\n"
            )
        return text


def with_settings(loader: DataLoader, workers: int, prefetch_factor: int, persistent: bool) -> DataLoader:
    """The user's loader with other workers; everything else is the user's own object."""
    settings: dict[str, Any] = {"collate_fn": loader.collate_fn, "pin_memory": loader.pin_memory}
    if loader.batch_sampler is not None and loader.batch_size is None:
        settings["batch_sampler"] = loader.batch_sampler
    else:
        settings["batch_size"] = loader.batch_size
        if loader.batch_size is not None:
            settings["drop_last"] = loader.drop_last
        if not is_iterable(loader):
            settings["sampler"] = loader.sampler
    if workers > 0:
        settings.update(
            num_workers=workers, prefetch_factor=prefetch_factor, worker_init_fn=loader.worker_init_fn,
            persistent_workers=persistent, timeout=loader.timeout,
            multiprocessing_context=loader.multiprocessing_context,
        )  # fmt: skip
        if not getattr(loader, "in_order", True):  # not in every PyTorch
            settings["in_order"] = False
    return DataLoader(loader.dataset, generator=loader.generator, **settings)


def samples_per_s(loader: DataLoader, samples: float, step: Callable | None, seconds: float) -> float:
    """Whole epochs where they are short, with their start; else the steady part of one."""
    gpu, begin, got, batches = FewBehind(), probes.now(), [], 0
    while True:
        count = 0
        for batch in loader:
            if step is not None:
                step(batch)
                gpu.step_done()
            got.append(probes.now())
            count += 1
            if batches == 0 and got[-1] - got[0] > seconds:
                # The first window of batches was made while workers started.
                skip = min(len(got) // 2, loader.num_workers * (loader.prefetch_factor or 0) + 1)
                return samples * (len(got) - 1 - skip) / (got[-1] - got[skip])
        batches += count
        if count == 0 or probes.now() - begin > seconds:
            return samples * batches / (probes.now() - begin)


def check(
    loader: DataLoader, tuned: Tuned, samples: float, step: Callable | None, progress: Progress
) -> Checked:
    other = with_settings(loader, tuned.workers, tuned.prefetch_factor, tuned.persistent)
    now, then = [], []
    for turn in range(ROUNDS):
        progress.show(f"check: round {turn + 1} of {ROUNDS}, as it is and as tuned")
        now.append(samples_per_s(loader, samples, step, ROUND_S))
        with threads_set(tuned.threads):
            then.append(samples_per_s(other, samples, step, ROUND_S))
    progress.clear()
    return Checked(sorted(now)[ROUNDS // 2], sorted(then)[ROUNDS // 2], tuned)
