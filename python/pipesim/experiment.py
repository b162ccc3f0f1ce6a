"""Writes a recording as an experiment file (docs/experiment.md). The program reads it like any other."""

from __future__ import annotations

from dataclasses import dataclass, field

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def duration(seconds: float) -> str:
    """Four digits, no exponent: experiment files take none."""
    if seconds < 0.5e-9:
        return "0"
    for unit, size in UNITS:
        if seconds >= 0.9995 * size or unit == "ns":
            value = seconds / size
            digits = 0 if unit == "ns" else max(0, 3 - len(str(int(value))) + 1)
            text = f"{value:.{digits}f}"
            return (text.rstrip("0").rstrip(".") if "." in text else text) + unit
    raise AssertionError("unreachable")


def size(count: float) -> str:
    return f"{max(0, round(count))}B"


def bandwidth(bytes_per_s: float) -> str:
    return f"{number(bytes_per_s / 1e6)}MB/s"


def number(value: float) -> str:
    """Four digits, no exponent."""
    text = f"{float(f'{value:.4g}'):f}"
    return text.rstrip("0").rstrip(".")


def drawn(values: list[float]) -> str:
    """A number, or the values themselves."""
    if len(values) == 1:
        return duration(values[0])
    return "{distribution: empirical, values: [" + ", ".join(duration(value) for value in values) + "]}"


def quoted(text: str) -> str:
    """A double-quoted YAML scalar."""
    cleaned = "".join(c if c.isprintable() else " " for c in text)
    return '"' + cleaned.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass
class Section:
    """One key of the file; a map keeps the order in which its keys were added."""

    name: str
    keys: list[tuple[str, str, str]] = field(default_factory=list)  # key, value, comment

    def add(self, key: str, value: str, comment: str = "") -> None:
        self.keys.append((key, value, comment))

    def text(self) -> str:
        if not self.keys:
            return ""
        lines = [f"{self.name}:"]
        for key, value, comment in self.keys:
            lines.append(f"  {key}: {value}" + (f"  # {comment}" if comment else ""))
        return "\n".join(lines) + "\n"


def document(name: str, comments: list[str], sections: list[Section]) -> str:
    head = "".join(f"# {line}".rstrip() + "\n" for line in comments)
    return head + f"version: 1\nname: {quoted(name)}\n" + "".join(section.text() for section in sections)
