"""What samples open and read."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from . import probes

# Samples whose bytes come from the device at least to this share wait for it and not otherwise. Each brings a sector
# then: a few bytes may be the process's own, such as a page of a library.
FROM_DISK, SECTOR = 0.5, 512
OPENS_EACH = 0.5  # files, of samples that read some


@dataclass
class Reading:
    """What the samples trial opened and read."""

    opens: int = 0
    read_bytes: int = 0  # by read calls, page cache included
    disk_bytes: int = 0  # from the device
    given_up: int = 0  # times that the thread gave up its core: a sample that waits does so at least once


class CountedOpens:
    """Counts the files that this thread opens while a sample is loaded. An audit hook cannot be taken
    away again, so this belongs into a process that ends."""

    def __init__(self, figures: probes.Figures):
        self.count = 0
        head = figures.head

        def hook(event: str, arguments: tuple) -> None:
            if event == "open" and head[probes.IN_HAND] > 0:
                self.count += 1

        sys.addaudithook(hook)


def io_counters() -> dict[str, int]:
    try:
        with open("/proc/self/io") as file:
            return {name: int(value) for name, value in (line.split(": ") for line in file)}
    except OSError:
        return {}


def reads_files(reading: Reading, samples: int) -> bool:
    """As samples do; modules that the first one imports, and a few bytes of randomness, are no files of theirs."""
    each = max(1, samples)
    return reading.opens > 0 and (reading.opens >= OPENS_EACH * each or reading.read_bytes >= SECTOR * each)


def waits_for_disk(reading: Reading, samples: int) -> bool:
    return reading.disk_bytes > max(FROM_DISK * reading.read_bytes, SECTOR * samples) > 0
