"""The pictures of pictures_large.py through pinned memory and non-blocking copies; the loss is read every 10 steps."""

from programs.gpu.pictures_large import dataset
from programs.work import loader_of, residual_net, trained_on_gpu


def loader(num_workers, **overrides):
    return loader_of(dataset(), num_workers, overrides, batch_size=64, shuffle=True, pin_memory=True)


def step():
    return trained_on_gpu(residual_net(64, 4, 100), reads_loss_every=10, non_blocking=True)


DESCRIPTION = None
