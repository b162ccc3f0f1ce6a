"""The order of batches, shared by trials that each see others."""

from __future__ import annotations

from typing import Any, Iterable, Iterator


class Continued:
    """The user's order, going on where the last trial stopped, so that each trial has fresh samples.
    Yields `left` items, beginning anew as often as needed."""

    def __init__(self, order: Iterable[Any]):
        self.order = order
        self.iterator = iter(order)
        self.taken = 0
        self.left = 0
        # Drawn now, a shuffled order is the same in every process that is forked later.
        self.ahead = next(self.iterator, None)

    def __len__(self) -> int:
        return self.left

    def take(self) -> Any:
        """The next item; None where the order has none."""
        item, self.ahead = self.ahead, next(self.iterator, None)
        if self.ahead is None:
            self.iterator = iter(self.order)
            self.ahead = next(self.iterator, None)
        self.taken += 1
        return item

    def go_on_to(self, taken: int) -> None:
        """As if `taken` items had been taken here."""
        while self.taken < taken:
            self.take()

    def __iter__(self) -> Iterator[Any]:
        while self.left > 0 and self.ahead is not None:
            self.left -= 1
            yield self.take()
