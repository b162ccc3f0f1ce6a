#!/usr/bin/env python3
"""The script of docs/tutorial: it trains, is watched, and knows the flags that the text uses. Exit code 77: no
PyTorch here."""

import contextlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

try:
    import torch  # noqa: F401
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs/tutorial"
sys.path.insert(0, str(ROOT / "python"))
if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
    os.environ["PIPESIM_PROGRAM"] = os.path.abspath(sys.argv.pop(1))

from pipesim import watcher  # noqa: E402


def load_script():
    spec = importlib.util.spec_from_file_location("train", TUTORIAL / "train.py")
    script = importlib.util.module_from_spec(spec)
    sys.modules["train"] = script
    spec.loader.exec_module(script)
    script.PHOTOS = 160
    return script


def output_of(words):
    """What `python3 train.py WORDS` prints, on few photos, in an empty folder."""
    script, out, before = load_script(), io.StringIO(), os.getcwd()
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "argv", ["train.py", *words]):
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                script.main()
        finally:
            os.chdir(before)
    return out.getvalue()


class Tutorial(unittest.TestCase):
    def test_it_trains_with_and_without_workers(self):
        for workers in ("0", "2"):
            text = output_of(["--workers", workers, "--epochs", "1"])
            self.assertRegex(text, r"^epoch 0: loss \d\.\d+, \d+ photos/s\n$")

    def test_watched_it_names_the_loader_and_a_line_with_workers(self):
        with mock.patch.object(watcher, "BUDGET_S", 0.3):
            text = output_of(["--watch", "--epochs", "1"])
        self.assertIn("pipesim watched 2 steps", text)
        self.assertIn("loader-bound", text)
        self.assertRegex(text, r"num_workers=[1-9]")

    def test_the_text_uses_flags_that_the_script_has(self):
        help_text = io.StringIO()
        with mock.patch.object(sys, "argv", ["train.py", "--help"]), contextlib.redirect_stdout(help_text):
            with self.assertRaises(SystemExit):
                load_script().main()
        commands = re.findall(r"^\$ python3 train\.py(.*)$", (TUTORIAL / "README.md").read_text(), re.MULTILINE)
        self.assertGreaterEqual(len(commands), 3)
        for flag in re.findall(r"--[a-z-]+", " ".join(commands)):
            self.assertIn(flag, help_text.getvalue())


if __name__ == "__main__":
    unittest.main(exit=True)
