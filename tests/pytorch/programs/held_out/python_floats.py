"""Samples of plain Python numbers, which default_collate turns into tensors."""

from torch.utils.data import Dataset

from programs.work import loader_of


class Numbers(Dataset):
    def __len__(self):
        return 5_000_000

    def __getitem__(self, index):
        return [index * 0.5, index * 0.25, float(index), index]


def dataset():
    return Numbers()


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=100)


DESCRIPTION = {
    "dataset": {"samples": 5_000_000, "shape": [7], "dtype": "float32", "tensors": 4, "numbers": 4},  # doubles, int64
    "loader": {"batch_size": 100, "shuffle": False},
}

KNOWN_MISS = "by description at 0 workers: not explained"
