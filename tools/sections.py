"""Documents that several tools write: each tool owns a section between markers and leaves the rest as it is."""

import pathlib


def write(path, name, text):
    """Puts `text` between the markers of section `name`; appends the section if the file lacks it."""
    begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->\n"
    section = begin + text.rstrip("\n") + "\n" + end
    path = pathlib.Path(path)
    old = path.read_text() if path.exists() else ""
    if begin in old and end in old:
        before, rest = old.split(begin, 1)
        path.write_text(before + section + rest.split(end, 1)[1])
    else:
        path.write_text(old + ("\n" if old else "") + section)
