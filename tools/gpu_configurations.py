"""Twenty ordinary configurations that train on a GPU, and the changes that decide what limits each.

A change frees one part for real, or makes a setting: {class: [settings, ...]}. `turns`: copies or results make host and
device work in turns.
"""

import dataclasses


@dataclasses.dataclass
class Configuration:
    name: str
    words: list
    settings: dict  # {class: [settings]}: loader settings, and fewer threads
    demands: dict   # {class: settings}: storage and preparation, free
    remedies: dict  # {class: [settings]}: what eases launches, copies and reading results
    turns: bool = False
    least_s: float = 0  # measured time that the pipeline needs: some batches of each worker


def settings(**keys):
    return {key.replace("__", "."): str(value) for key, value in keys.items()}


def flags(keys):
    return [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]


def configuration(name, model, batch, workers, cores, *, prepare="none", storage="none", pinned=False, more=None,
                  shape=None, least_s=0):
    """`more`: further settings of the base."""
    keys = {**settings(loader__pin_memory=str(pinned).lower()), **(more or {})}
    if shape:
        keys["dataset.shape"] = shape
    words = ["--model", model, "--batch", str(batch), "--workers", str(workers), "--prepare", prepare, "--storage", storage,
             *flags(keys)]
    turns = workers == 0 or keys.get("model.sync_every", "0") != "0" or keys.get("transfer.overlap") == "false"
    return Configuration(name, words, thread_changes(workers, cores), free_demands(prepare, storage),
                         remedies(keys), turns, least_s)


def thread_changes(workers, cores):
    """The next more and the next fewer workers that can matter on so many cores."""
    more = 4 if workers == 0 else 2 * workers if 2 * workers <= cores or workers >= cores else cores
    found = {"loader-bound": [settings(loader__workers=more)]}
    if workers > cores:
        found["cpu-contention"] = [settings(loader__workers=cores - 1)]
    return found


def free_demands(prepare, storage):
    found = {}
    if prepare != "none":
        found["cpu-bound"] = settings(prepare="none")
    if storage != "none":
        found["io-bound"] = settings(storage="none")
    return found


def remedies(keys):
    found = {"launch-bound": [settings(model__cuda_graph="true")]}
    if keys["loader.pin_memory"] == "false":
        found["h2d-bound"] = [settings(loader__pin_memory="true", transfer__overlap="true"),
                              settings(loader__collate_into="pinned", transfer__overlap="true")]
    else:
        found["h2d-bound"] = [settings(loader__collate_into="pinned")]
    if keys.get("model.sync_every", "0") != "0":
        found["sync-bound"] = [settings(model__sync_every=0)]
    return found


def configurations(cores):
    """What users run; the first eight were once inconclusive (issue 14)."""
    def on(*words, **keys):
        return configuration(*words, cores, **keys)

    photos = "[3, 224, 224]"
    return [
        on("resnet18, 12 workers burn 8 ms", "resnet18", 64, 12, prepare="8ms"),
        on("resnet18, 14 workers burn 8 ms", "resnet18", 128, 14, prepare="8ms", pinned=True, least_s=6),
        on("resnet18, 12 workers burn 2 ms", "resnet18", 128, 12, prepare="2ms", pinned=True),
        on("resnet18, 14 workers burn 1 ms", "resnet18", 64, 14, prepare="1ms"),
        on("mlp at batch 1024", "mlp", 1024, 4, prepare="5us"),
        on("mlp at batch 4096", "mlp", 4096, 4),
        on("mlp at batch 2048, pinned", "mlp", 2048, 2, prepare="20us", pinned=True),
        on("resnet50 from a hard disk", "resnet50", 64, 8, storage="hdd", pinned=True, least_s=6),
        on("77 MB a batch, pageable, no overlap", "linear", 512, 8, shape=photos, more=settings(transfer__overlap="false")),
        on("77 MB a batch, pinned", "linear", 512, 8, shape=photos, pinned=True),
        on("mlp at batch 64, free data", "mlp", 64, 2),
        on("mlp that reads each loss", "mlp", 256, 4, pinned=True, more=settings(model__sync_every=1)),
        on("resnet18, 0 workers", "resnet18", 128, 0, prepare="1ms"),
        on("resnet50, free data", "resnet50", 64, 8, pinned=True),
        on("cnn, 4 workers burn 500 us", "cnn", 128, 4, prepare="500us"),
        on("cnn, all cores burn 1 ms", "cnn", 256, cores, prepare="1ms", pinned=True, least_s=6),
        on("resnet18 in bf16, all cores burn 8 ms", "resnet18", 128, cores, prepare="8ms", pinned=True,
           more=settings(model__precision="bf16"), least_s=6),
        on("transformer, 2 workers", "transformer", 64, 2, prepare="20us"),
        on("resnet18 from a SATA SSD", "resnet18", 128, 8, storage="sata-ssd", prepare="100us"),
        on("mlp, twice as many workers as cores", "mlp", 128, 2 * cores, prepare="200us"),
    ]
