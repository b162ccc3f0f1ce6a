"""Reads exports back with the programs that they are for. Prints what it read as JSON.

  read_exports.py pandas FILE.csv
  read_exports.py tensorboard DIR
  read_exports.py perfetto FILE.json

Exits with 77, and says why, where the package is not installed:
  .venv/bin/pip install pandas tensorboard perfetto
"""

import json
import os
import sys


def skip(why):
    print(why)
    sys.exit(77)


def read_pandas(path):
    try:
        import pandas
    except ImportError as error:
        skip(f"no pandas: {error}")
    table = pandas.read_csv(path)
    return {
        "rows": len(table),
        "types": {name: str(kind) for name, kind in table.dtypes.items()},
        "columns": {
            name: [None if pandas.isna(cell) else getattr(cell, "item", lambda: cell)() for cell in table[name]]
            for name in table.columns
        },
    }


def read_tensorboard(folder):
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError as error:
        skip(f"no TensorBoard: {error}")
    runs = {}
    for path, _, files in os.walk(folder):
        if not any("tfevents" in name for name in files):
            continue
        # 0: keep every event
        events = EventAccumulator(path, size_guidance={"scalars": 0, "tensors": 0})
        events.Reload()
        scalars = {
            tag: [[event.step, event.value] for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]
        }
        texts = {tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in events.Tags()["tensors"]}
        runs[os.path.relpath(path, folder)] = {"scalars": scalars, "texts": texts}
    return runs


def read_perfetto(path):
    try:
        from perfetto.trace_processor import TraceProcessor
    except ImportError as error:
        skip(f"no Perfetto: {error}")
    try:
        processor = TraceProcessor(trace=path)
    except Exception as error:  # it downloads its program at first use
        skip(f"Perfetto's trace_processor does not start: {error}")

    def rows(query):
        return [vars(row) for row in processor.query(query)]

    answer = {
        "slices": rows("select thread.name as track, slice.name as name, count(*) as count, sum(slice.dur) as ns "
                       "from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) "
                       "group by 1, 2"),
        "counters": rows("select t.name as name, count(*) as count from counter join counter_track t "
                         "on counter.track_id = t.id group by 1"),
        "flows": rows("select count(*) as count from flow"),
        "errors": rows("select name, value from stats where severity = 'error' and value > 0"),
    }
    processor.close()
    return answer


READERS = {"pandas": read_pandas, "tensorboard": read_tensorboard, "perfetto": read_perfetto}

if __name__ == "__main__":
    json.dump(READERS[sys.argv[1]](sys.argv[2]), sys.stdout)
