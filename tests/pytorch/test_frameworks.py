#!/usr/bin/env python3
"""pipesim.watch in Lightning and in Hugging Face's Trainer, as docs/record.md shows it. Exit code 77: no PyTorch, or
neither of them, here; one that is absent alone is skipped with its name."""

import contextlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import time
import unittest
import warnings
from pathlib import Path

LIGHTNING, TRAINER = (bool(importlib.util.find_spec(name)) for name in ("lightning", "transformers"))
TRAINER = TRAINER and importlib.util.find_spec("accelerate") is not None
try:
    import torch
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)
if not (LIGHTNING or TRAINER):
    sys.exit(print(f"{sys.executable} has neither lightning nor transformers with accelerate", file=sys.stderr) or 77)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
    os.environ["PIPESIM_PROGRAM"] = sys.argv.pop(1)

import pipesim  # noqa: E402
from pipesim import watcher  # noqa: E402

SAMPLES, BATCH, EPOCHS = 240, 8, 2
STEPS = SAMPLES // BATCH


class Slow(Dataset):
    """Samples that wait 5 ms, as named tensors."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        time.sleep(5e-3)
        return {"x": torch.zeros(16), "labels": index % 2}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 2)

    def forward(self, x, labels):
        return {"loss": torch.nn.functional.cross_entropy(self.layer(x), labels)}


def trained(train):
    """What train(folder) prints."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            train(Path(folder))
    return out.getvalue()


class Frameworks(unittest.TestCase):
    def check(self, text):
        """One report, of the first epoch, in which the loop waits 40 ms for a batch of 8."""
        self.assertEqual(text.count("pipesim watched"), 1)
        steps = int(re.search(r"watched (\d+) steps", text)[1])
        # Both stop at the length of the loader: nothing is asked for after the last step, whose end is not seen.
        self.assertIn(steps, (STEPS - watcher.WARM_UP_STEPS, STEPS - watcher.WARM_UP_STEPS - 1))
        waiting_ms = float(re.search(r"next batch +([\d.]+)ms", text)[1])
        self.assertGreater(waiting_ms, 35)
        self.assertRegex(text, r"steps/s, [\d.]+ samples/s")
        self.assertIn("loader-bound", text)
        self.assertRegex(text, r"num_workers=[1-9]")

    @unittest.skipUnless(LIGHTNING, "lightning is not installed")
    def test_lightning(self):
        import lightning

        class Learner(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = Model()

            def training_step(self, batch, _):
                return self.model(**batch)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.1)

        def train(folder):
            class Data(lightning.LightningDataModule):
                def train_dataloader(self):
                    return pipesim.watch(DataLoader(Slow(), batch_size=BATCH), out=folder / "watched.yaml")

            trainer = lightning.Trainer(
                max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False)
            trainer.fit(Learner(), Data())
            self.assertEqual(trainer.global_step, EPOCHS * STEPS)

        self.check(trained(train))

    @unittest.skipUnless(TRAINER, "transformers or accelerate is not installed")
    def test_hugging_face_trainer(self):
        import transformers

        def train(folder):
            class WatchedTrainer(transformers.Trainer):
                def get_train_dataloader(self):
                    return pipesim.watch(super().get_train_dataloader(), out=folder / "watched.yaml")

            arguments = transformers.TrainingArguments(
                output_dir=str(folder), num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, use_cpu=True,
                report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True)
            trainer = WatchedTrainer(model=Model(), args=arguments, train_dataset=Slow())
            trainer.train()
            self.assertEqual(trainer.state.global_step, EPOCHS * STEPS)

        self.check(trained(train))


if __name__ == "__main__":
    watcher.BUDGET_S = 0.2
    unittest.main(exit=True)
