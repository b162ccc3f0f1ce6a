#!/usr/bin/env python3
"""Checks the dependencies between pipesim's layers: tools/check_layers.py [SRC]

Reads every #include under src/ and fails if one points to the right in

    base <- spec <- cost <- trace <- engine <- measure <- diagnose <- predict, calibrate <- advise <- sweep <- compare <- interop <- report <- app

or includes a library in a folder that must not use it, or if a header uses a name of another layer by a .cc file's
using-declaration: that compiles only where both happen to be in one unity build. See docs/architecture.md.
"""

import pathlib
import re
import sys

ORDER = ["base", "spec", "cost", "trace", "engine", "measure", "diagnose", "predict", "calibrate",
         "advise", "sweep", "compare", "interop", "report", "app"]

# Implementations of engine's interfaces; none includes another.
ENGINES = ["engine/files", "engine/threaded", "engine/torch", "engine/virtual_time"]

# Neither includes the other.
SIDE_BY_SIDE = {"predict", "calibrate"}

# Layers that may include an implementation of engine's interfaces.
ENGINE_USERS = ["predict", "calibrate", "app"]

# Layers to the right of engine that read its results and never include it.
NO_ENGINE = ["measure", "diagnose", "advise", "sweep", "compare", "interop", "report"]

# The only header of the LibTorch plugin that others may include; it must not include LibTorch.
PLUGIN_BORDER = "engine/torch/plugin.h"

# Libraries that only these folders may include, by header prefix.
OWNERS = [
    (r"(torch|ATen|c10|caffe2)/|cuda|nvml|cupti|nvtx", ["engine/torch"]),
    (r"(oneapi/)?tbb/", ["engine/threaded", "predict"]),
    (r"boost/crc", ["sweep"]),
    (r"boost/math", ["base"]),
    (r"boost/(?!crc|math)", ["engine/threaded"]),
    (r"jpeglib\.h|jerror\.h|turbojpeg\.h", ["engine/files"]),
    (r"yaml-cpp/", ["spec"]),
    (r"nlohmann/", ["interop", "report", "app"]),
    (r"zlib\.h", ["interop"]),
    (r"valijson/", ["report"]),
    (r"cxxopts", ["app"]),
    (r"spdlog/", ["app"]),
    (r"hwloc", ["base"]),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
USING = re.compile(r"^\s*using (?:pipesim::)?(\w+)::(\w+);")
DECLARED = re.compile(r"\b(?:class|struct|enum(?: class)?|using) (\w+)")
COMMENT_OR_TEXT = re.compile(r'//.*|"(?:[^"\\]|\\.)*"')


def folder_of(path):
    """'engine/torch' for 'engine/torch/plugin.h', 'spec' for 'spec/read.h'."""
    for engine in ENGINES:
        if path.startswith(engine + "/"):
            return engine
    return path.split("/")[0]


def what_is_wrong(file, included):
    """Why src/`file` must not include src/`included`, or None."""
    here, there = folder_of(file), folder_of(included)
    if here == there:
        return None
    if here.split("/")[0] not in ORDER:
        return f"{here} is not a layer"
    if {here, there} == SIDE_BY_SIDE:
        return f"{here} must not include {there}"
    if ORDER.index(there.split("/")[0]) > ORDER.index(here.split("/")[0]):
        return f"{there} is to the right of {here}"
    if here in NO_ENGINE and there.split("/")[0] == "engine":
        return f"{here} must not know engine"
    if there == "engine/torch" and here != "app":
        return f"only app may include {there}"
    if there in ENGINES and here not in ENGINE_USERS:
        return f"only {', '.join(ENGINE_USERS)} may include {there}"
    if there == "engine/torch" and included != PLUGIN_BORDER:
        return f"of {there} only {PLUGIN_BORDER} may be included"
    return None


def what_is_foreign(file, header):
    """Why src/`file` must not include the library header `header`, or None."""
    for pattern, owners in OWNERS:
        if re.match(pattern, header) and (folder_of(file) not in owners or file == PLUGIN_BORDER):
            return f"only {' and '.join(owners)} may include it" + (
                ", and its border not at all" if file == PLUGIN_BORDER else "")
    return None


def used_names(text):
    """{(layer, name)} of the using-declarations in a file."""
    return {match.groups() for line in text.splitlines() if (match := USING.match(line)) and match[1] in ORDER}


def leaks(texts):
    """Places where a header uses a bare name of another layer that no header of its own layer declares."""
    names = set().union(*(used_names(text) for text in texts.values()), set())
    headers = {file: text for file, text in texts.items() if file.endswith(".h")}
    for file, text in sorted(headers.items()):
        own = folder_of(file).split("/")[0]
        of_layer = "\n".join(text for other, text in headers.items() if folder_of(other).split("/")[0] == own)
        known = set(DECLARED.findall(of_layer)) | {name for _, name in used_names(of_layer)}
        for layer, name in sorted(names):
            if layer == own or name in known:
                continue
            # A member may have the same name; a type stands before what it declares.
            bare = re.compile(rf"(?<![\w:.>]){name}(?=( [\w*&]|[>&*]))")
            for number, line in enumerate(text.splitlines(), 1):
                if bare.search(COMMENT_OR_TEXT.sub("", line)):
                    yield f"src/{file}:{number}: {layer}::{name} is used without its namespace"


def problems_in(src):
    files = sorted(p for p in src.rglob("*") if p.suffix in (".h", ".cc", ".in"))
    texts = {p.relative_to(src).as_posix(): p.read_text(encoding="utf-8") for p in files}
    yield from leaks(texts)
    for file, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match[2]
            # <compare> is the standard library's.
            own = "/" in header and header.split("/")[0] in ORDER
            wrong = what_is_wrong(file, header) if own else what_is_foreign(file, header)
            if wrong:
                yield f"src/{file}:{number}: {header}: {wrong}"
    if not files:
        yield f"{src}: no sources there"


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "src"
    src = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    problems = list(problems_in(src))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
