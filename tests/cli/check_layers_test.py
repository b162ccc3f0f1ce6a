#!/usr/bin/env python3
"""tools/check_layers.py finds what it is there to find: each wrong include below is named, each right
one passes."""

import pathlib
import subprocess
import sys
import tempfile

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

# file under src/, its include, what the checker says (None: nothing)
CASES = [
    ("base/a.cc", '"spec/read.h"', "spec is to the right of base"),
    ("spec/a.h", '"base/units.h"', None),
    ("spec/a.h", '"spec/b.h"', None),
    ("measure/a.cc", '"engine/executor.h"', "measure must not know engine"),
    ("measure/a.cc", '"trace/run_trace.h"', None),
    ("report/a.cc", '"app/output.h"', "app is to the right of report"),
    ("engine/a.h", '"engine/threaded/b.h"', "only predict, calibrate, app may include engine/threaded"),
    ("engine/threaded/a.cc", '"engine/trainer.h"', None),
    ("engine/threaded/a.cc", '"engine/torch/plugin.h"', "only app may include engine/torch"),
    ("engine/threaded/a.cc", "<torch/torch.h>", "only engine/torch may include it"),
    ("engine/threaded/a.cc", "<cuda_runtime_api.h>", "only engine/torch may include it"),
    ("engine/threaded/a.cc", "<tbb/concurrent_queue.h>", None),
    ("engine/torch/a.cc", "<ATen/ATen.h>", None),
    ("engine/torch/plugin.h", "<c10/core/Device.h>", "its border not at all"),
    ("app/a.cc", '"engine/torch/plugin.h"', None),
    ("app/a.cc", '"engine/torch/model.h"', "only engine/torch/plugin.h may be included"),
    ("calibrate/a.cc", '"engine/threaded/burn.h"', None),
    ("calibrate/a.cc", '"engine/torch/plugin.h"', "only app may include engine/torch"),
    ("calibrate/a.cc", '"predict/a.h"', "calibrate must not include predict"),
    ("predict/a.cc", '"calibrate/a.h"', "predict must not include calibrate"),
    ("calibrate/a.cc", '"report/a.h"', "report is to the right of calibrate"),
    ("advise/a.cc", '"engine/executor.h"', "advise must not know engine"),
    ("predict/a.cc", '"advise/a.h"', "advise is to the right of predict"),
    ("app/a.cc", "<vector>", None),
    ("newcomer/a.cc", '"base/units.h"', "newcomer is not a layer"),
]


def say_of(file, include):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / file
        path.parent.mkdir(parents=True)
        path.write_text(f"#pragma once\n# include {include}\n", encoding="utf-8")
        done = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True)
        return done.returncode, done.stdout


# A header's line, and whether it passes beside a .cc file of its layer that says `using base::Duration;`.
HEADER_LINES = [("Duration Left() const;", False), ("base::Duration Left() const;", True), ("// Duration x", True),
                ("std::vector<Duration> left;", False), ("using base::Duration; Duration left;", True),
                ("int Duration = 0;", True)]


def passes(line):
    with tempfile.TemporaryDirectory() as folder:
        layer = pathlib.Path(folder) / "engine"
        layer.mkdir()
        (layer / "a.cc").write_text("using base::Duration;\n", encoding="utf-8")
        (layer / "b.h").write_text(f"#pragma once\n{line}\n", encoding="utf-8")
        done = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True)
        return done.returncode == 0


def main():
    failures = 0
    for line, right in HEADER_LINES:
        if passes(line) != right:
            failures += 1
            print(f"a header's {line!r}: expected it to {'pass' if right else 'fail'}")
    for file, include, expected in CASES:
        code, said = say_of(file, include)
        right = (code == 0 and said == "") if expected is None else (
            code == 1 and expected in said and f"src/{file}:2" in said)
        if not right:
            failures += 1
            print(f"{file} includes {include}: exit {code}, said {said!r}, expected {expected!r}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
