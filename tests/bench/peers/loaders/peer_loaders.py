"""The peers of pipesim's loader: PyTorch's DataLoader and SPDL, each set up as its own documents advise,
delivering batches to a consumer that does nothing. run.py starts one process for each of them:

    peer_loaders.py LOADER    reads {"work", "workers", ...} lines, answers each with a line of JSON
"""

import itertools
import json
import os
import pathlib
import sys
import time

import torch

TRIVIAL_SAMPLES, TRIVIAL_BYTES, TRIVIAL_BATCH = 1 << 20, 64, 256
JPEG_SIDE, JPEG_BATCH = 224, 64


class Trivial(torch.utils.data.Dataset):
    """Ready samples in memory; `batched` fetches a whole batch by one indexing."""

    def __init__(self, batched):
        self.data = torch.randint(0, 256, (TRIVIAL_SAMPLES, TRIVIAL_BYTES), dtype=torch.uint8)
        self.labels = torch.randint(0, 10, (TRIVIAL_SAMPLES,))
        self.batched = batched
        if batched:
            self.__getitems__ = lambda indices: (self.data[indices], self.labels[indices])

    def __len__(self):
        return TRIVIAL_SAMPLES

    def __getitem__(self, index):
        return self.data[index], self.labels[index]


def jpeg_files(folder):
    classes = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_dir())
    return [(str(path), label) for label, of in enumerate(classes) for path in sorted(of.rglob("*.jpg"))]


def pillow_decode():
    from PIL import Image
    from torchvision import transforms

    prepare = transforms.Compose(
        [transforms.Resize(JPEG_SIDE), transforms.CenterCrop(JPEG_SIDE), transforms.PILToTensor()]
    )

    def decode(path):
        with open(path, "rb") as file:
            return prepare(Image.open(file).convert("RGB"))

    return decode


def torchvision_decode(antialias):
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms.v2 import functional

    def decode(path):
        picture = decode_jpeg(read_file(path), ImageReadMode.RGB)
        picture = functional.resize(picture, [JPEG_SIDE], antialias=antialias)
        return functional.center_crop(picture, [JPEG_SIDE, JPEG_SIDE])

    return decode


def decoder(name):
    return pillow_decode() if name == "pillow" else torchvision_decode(name == "torchvision-antialias")


class Jpegs(torch.utils.data.Dataset):
    def __init__(self, folder, decode):
        self.files, self.decode = jpeg_files(folder), decode

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        return self.decode(path), label


def spdl_native_batch(files, scale):
    """FFmpeg's decoder and scaler, as spdl.io offers them. Batches stay as height x width x channel."""
    import spdl.io

    def make(indices):
        frames = []
        for index in indices:
            packets = spdl.io.demux_image(files[index][0])
            filters = spdl.io.get_filter_desc(
                packets, scale_width=JPEG_SIDE, scale_height=JPEG_SIDE, scale_mode="crop",
                scale_algo=scale, pix_fmt="rgb24",
            )
            frames.append(spdl.io.decode_packets(packets, filter_desc=filters))
        labels = torch.tensor([files[index][1] for index in indices])
        return spdl.io.to_torch(spdl.io.convert_frames(frames)), labels

    return make


def item_batch(dataset):
    collate = torch.utils.data.default_collate
    return lambda indices: collate([dataset[index] for index in indices])


def dataset_of(loader, work, folder):
    _, _, kind = loader.partition(":")
    return Trivial(kind == "batched") if work == "trivial" else Jpegs(folder, decoder(kind))


def batch_size(work):
    return TRIVIAL_BATCH if work == "trivial" else JPEG_BATCH


def dataloader_epochs(loader, work, folder, workers):
    dataset = dataset_of(loader, work, folder)
    batched = {"collate_fn": lambda batch: batch} if getattr(dataset, "batched", False) else {}
    return torch.utils.data.DataLoader(
        dataset, batch_size(work), shuffle=True, drop_last=True, num_workers=workers,
        persistent_workers=workers > 0, **batched,
    )


def spdl_pipeline(loader, work, folder, workers):
    from spdl.pipeline import PipelineBuilder

    _, _, kind = loader.partition(":")
    if work == "jpeg" and kind in ("bicubic", "bilinear", "fast_bilinear"):
        files = jpeg_files(folder)
        count, make = len(files), spdl_native_batch(files, kind)
    else:
        dataset = dataset_of(loader, work, folder)
        count = len(dataset)
        make = dataset.__getitems__ if getattr(dataset, "batched", False) else item_batch(dataset)

    def indices():
        size = batch_size(work)
        while True:
            order = torch.randperm(count).tolist()
            yield from (order[at : at + size] for at in range(0, count - size + 1, size))

    builder = PipelineBuilder().add_source(indices()).pipe(make, concurrency=workers, output_order="input")
    return builder.add_sink(2 * workers).build(num_threads=workers)


def tree_cpu_s():
    """User and system time of this process and all that descend from it, the living ones."""
    parents, ticks = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(name)], ticks[int(name)] = int(fields[1]), int(fields[11]) + int(fields[12])

    def ours(pid):
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return sum(used for pid, used in ticks.items() if ours(pid)) / os.sysconf("SC_CLK_TCK")


def measure(batches, work, workers, warmup_s, seconds):
    """Whole cycles of `workers` batches, after the warm-up and what was prefetched during it."""
    cycle, taken, begun = max(workers, 1), 0, None
    first = time.perf_counter()
    for data, _ in batches:
        assert data.shape[0] == batch_size(work)
        taken += 1
        if taken % cycle:
            continue
        now = time.perf_counter()
        if begun is None:
            if now - first >= warmup_s and taken >= 3 * cycle:
                begun, before, cpu = now, taken, tree_cpu_s()
        elif now - begun >= seconds:
            items = (taken - before) * batch_size(work)
            return {"items": items, "seconds": now - begun, "cpu_s": tree_cpu_s() - cpu}
    raise RuntimeError("the loader ended before the measurement")


def answer(loader, task):
    work, workers = task["work"], task["workers"]
    limits = (work, workers, task["warmup_s"], task["seconds"])
    if loader.startswith("dataloader"):
        epochs = dataloader_epochs(loader, work, task["folder"], workers)
        return measure(itertools.chain.from_iterable(itertools.repeat(epochs)), *limits)
    pipeline = spdl_pipeline(loader, work, task["folder"], workers)
    with pipeline.auto_stop():
        return measure(pipeline, *limits)


def main():
    torch.set_num_threads(1)  # a worker is one thread, as DataLoader has it
    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(sys.argv[1], json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
