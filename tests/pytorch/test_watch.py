#!/usr/bin/env python3
"""pipesim.watch in a user's loop: what it measures, what it changes (nothing), what it costs. Exit code
77: no PyTorch here."""

import contextlib
import io
import itertools
import os
import subprocess
import sys
import tempfile
import time
import unittest
import weakref
from pathlib import Path
from unittest import mock

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE)]
if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
    os.environ["PIPESIM_PROGRAM"] = sys.argv.pop(1)

import loaders  # noqa: E402
import pipesim  # noqa: E402
from pipesim import answers, blocks, program, ranks, watched, watcher  # noqa: E402


def walked(loader, step=lambda batch: None, **settings):
    """The batches that a watched loop saw, its watch and what it printed."""
    out = io.StringIO()
    file = Path(FOLDER.name) / "watched.yaml"
    watch = pipesim.watch(loader, out=file, **settings)
    seen = []
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        for batch in watch:
            seen.append(batch)
            step(batch)
    return seen, watch, out.getvalue()


class Watching(unittest.TestCase):
    def test_the_loop_sees_the_loaders_batches_and_no_others(self):
        loader = DataLoader(loaders.Numbers(), batch_size=8, num_workers=2)
        seen, watch, _ = walked(loader)
        self.assertEqual([labels.tolist() for _, labels in seen], [labels.tolist() for _, labels in loader])
        self.assertEqual(len(watch), len(loader))
        self.assertIs(watch.dataset, loader.dataset)

    def test_waiting_and_step_are_told_apart(self):
        # A batch of 8 waits 24 ms; the step takes 12: without workers a third of the time.
        loader = DataLoader(loaders.WaitsOnce(160), batch_size=8)
        _, watch, text = walked(loader, lambda batch: time.sleep(0.012))
        totals = watch.watched.as_it_is
        self.assertEqual(totals.steps, len(loader) - watcher.WARM_UP_STEPS)
        self.assertAlmostEqual(totals.step_s / totals.wall_s, 1 / 3, delta=0.12)
        for part in ("pipesim watched", "waiting", "step", "Recorded"):
            self.assertIn(part, text)

    def test_the_recording_holds_the_step_and_the_loaders_settings(self):
        loader = DataLoader(loaders.Waits(80), batch_size=8)
        _, watch, _ = walked(loader, lambda batch: loaders.burn(0.005))
        text = watch.watched.recording.text
        self.assertIn("step: {base: ", text)
        self.assertIn("workers: 0", text)
        self.assertIn("kind: process", text)

    def test_what_the_loop_itself_loads_is_no_work_of_its_body(self):
        loader = DataLoader(loaders.Burns(240), batch_size=8)  # 16 ms of CPU time a batch
        _, watch, _ = walked(loader, lambda batch: time.sleep(0.008))
        self.assertEqual(watch.watched.recording.step.device, "", "it waits and holds no core")
        loader = DataLoader(loaders.WaitsOnce(160), batch_size=8)
        _, watch, _ = walked(loader, lambda batch: loaders.burn(0.012))
        self.assertEqual(watch.watched.recording.step.device, "cpu")

    def test_each_watched_loader_has_its_own_file(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(FOLDER.name)
        watches = [pipesim.watch(DataLoader(loaders.Numbers(), batch_size=4)) for _ in range(2)]
        with mock.patch.object(watcher, "FILE_NUMBERS", itertools.count(1)):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                list(zip(*watches))
        files = [str(watch.watched.recording.file) for watch in watches]
        self.assertEqual(files, ["watched.yaml", "watched-2.yaml"])

    def test_a_loop_that_breaks_off_is_reported_and_the_next_epoch_is_not(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            for epoch in range(2):
                for i, _ in enumerate(pipesim.watch(loader, out=Path(FOLDER.name) / "b.yaml")):
                    if i == 8:
                        break
        self.assertEqual(out.getvalue().count("pipesim watched"), 1)
        self.assertEqual(err.getvalue().count("the watched loop ended early"), 1)

    def run_module(self, *lines, workers=1):
        """stdout of a module that steps by hand, `it`, and never ends its loop."""
        code = [
            "import os, loaders, pipesim", "from pipesim import watcher", "from torch.utils.data import DataLoader",
            "watcher.BUDGET_S = 0.1",
            f"it = iter(pipesim.watch(DataLoader(loaders.Numbers(400), batch_size=4, num_workers={workers})))",
            "for _ in range(20): next(it)", *lines,
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2]), "PYTHONWARNINGS": "ignore"}
        result = subprocess.run([sys.executable, "-c", "\n".join(code)], capture_output=True, text=True,
                                cwd=FOLDER.name, env=environment, timeout=60)
        self.assertEqual((result.returncode, "Traceback" in result.stderr), (0, False), result.stderr)
        return result.stdout

    def test_a_loop_that_nobody_ends_is_reported_at_exit(self):
        text = self.run_module("print('over', flush=True)")
        self.assertRegex(text, "^over\npipesim watched 1[67] steps")
        if sys.version_info < (3, 12):
            self.assertIn("Recorded watched.yaml", text)

    def test_at_exit_newer_pythons_start_no_process(self):
        text = self.run_module(
            "def fork(): raise RuntimeError('can\\'t fork at interpreter shutdown')", "os.fork = fork")
        self.assertIn("pipesim watched", text)
        self.assertIn("No advice", text)
        self.assertIn("can't fork at interpreter shutdown; let the loop end before the program does", text)

    def test_a_forked_child_does_not_report_its_parents_loop(self):
        text = self.run_module("if os.fork() == 0: raise SystemExit", "os.wait()", "print('waited', flush=True)",
                               workers=0)
        self.assertRegex(text, "^waited\npipesim watched")
        self.assertEqual(text.count("pipesim watched"), 1)

    def test_an_iterator_that_is_dropped_is_not_kept(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            iterator = iter(pipesim.watch(loader, out=Path(FOLDER.name) / "d.yaml"))
            next(iterator)
            gone = weakref.ref(loader)
            del iterator, loader
        self.assertIsNone(gone())

    def test_epochs_of_three_batches_are_reported_after_the_second(self):
        loader = DataLoader(loaders.Numbers(12), batch_size=4)
        out, errors = io.StringIO(), io.StringIO()
        watch = pipesim.watch(loader, out=Path(FOLDER.name) / "short.yaml")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            for epoch in range(3):
                for _ in watch:
                    time.sleep(0.001)
        self.assertEqual(out.getvalue().count("pipesim watched 3 steps"), 1)
        self.assertIn("too few batches to report on", errors.getvalue())

    def test_what_is_watched_already_reports_once(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4)
        watch = pipesim.watch(loader)
        self.assertIs(pipesim.watch(watch), watch)

    def test_probing_finds_the_ceiling(self):
        # As it is 24 ms of waiting and 12 of training; with cached batches only the latter: three times.
        loader = DataLoader(loaders.WaitsOnce(8000), batch_size=8)
        with mock.patch.object(blocks, "BLOCK_S", 0.2):
            out = io.StringIO()
            watch = pipesim.watch(loader, probe=True, out=Path(FOLDER.name) / "p.yaml")
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                for i, _ in enumerate(watch):
                    time.sleep(0.012)
                    if i == 130:
                        break
        ratio = watch.watched.cached.steps_per_s / watch.watched.as_it_is.steps_per_s
        self.assertAlmostEqual(ratio, 3, delta=1)
        for part in ("ceiling", "alone"):
            self.assertIn(part, out.getvalue())

    def probed(self, loader, body):
        """The watch of a loop that breaks off when 20 steps on kept batches count."""
        watch = pipesim.watch(loader, probe=True, out=Path(FOLDER.name) / "c.yaml", quiet=True)
        with mock.patch.object(blocks, "BLOCK_S", 0.01), contextlib.redirect_stderr(io.StringIO()):
            for batch in watch:
                body(batch)
                if watch.watched.cached.steps == 20:
                    break
        self.assertEqual(watch.watched.cached.steps, 20)
        return watch

    def test_a_loop_may_change_what_it_gets_again(self):
        def body(batch):
            seen.append((batch.pop("label"), batch["box"][1][0][:, 0].clone()))
            batch["box"][1][0].add_(1)
            batch["box"][1].append(None)

        seen = []
        self.probed(DataLoader(loaders.Named(8000), batch_size=8), body)
        for label, box in seen:
            self.assertEqual(label.tolist(), box.tolist(), "as the loader made it")

    def test_each_step_on_a_kept_batch_has_memory_of_its_own(self):
        held = []
        self.probed(DataLoader(loaders.Numbers(8000), batch_size=8), held.append)
        self.assertEqual(len({numbers.data_ptr() for numbers, _ in held}), len(held))

    def test_copying_is_neither_waiting_nor_step(self):
        def slowly(batch, change):
            time.sleep(0.01)
            return batch

        with mock.patch.object(blocks, "mapped", slowly):
            watch = self.probed(DataLoader(loaders.Numbers(8000), batch_size=8), lambda batch: None)
        self.assertLess(watch.watched.cached.wall_s / watch.watched.cached.steps, 0.005)
        self.assertLess(watch.watched.wall_s, 0.15, "20 copies take 0.2 s")

    def test_a_gpus_loop_gets_the_hosts_memory_as_it_is(self):
        batch = {"x": torch.zeros(4)}
        with mock.patch.object(blocks, "on_gpu", lambda: True):
            copy, seconds = blocks.copied(batch)
        self.assertIsNot(copy, batch)
        self.assertIs(copy["x"], batch["x"], "page-locked memory stays so")
        self.assertEqual(seconds, 0.0)

    def test_a_short_probed_epoch_says_why_it_has_no_ceiling(self):
        _, watch, text = walked(DataLoader(loaders.Numbers(), batch_size=4), probe=True)
        self.assertEqual(watch.watched.cached.steps, 0)
        self.assertIn("ceiling  not known: the epoch ended before a block on kept batches began to count", text)
        self.assertNotIn("ceiling", walked(DataLoader(loaders.Numbers(), batch_size=4))[2])

    def test_a_cached_block_counts_when_the_queues_are_full(self):
        # Two workers fill a window of four batches, 10 ms each as the loop takes them.
        now = [0.0]
        with mock.patch.object(blocks, "clock", lambda: now[0]), mock.patch.object(blocks, "BLOCK_S", 0.2):
            turns, counted = blocks.Blocks(window=4, third=None), []
            while len(turns.left) > 2 * blocks.ROUNDS - 2:
                cached = turns.next(blocks.CACHED_BATCHES) is blocks.Kind.CACHED
                begun = turns.began
                now[0] += 0.002 if cached else 0.010
                if cached and turns.counts:
                    counted.append(now[0] - begun)
        self.assertAlmostEqual(min(counted), 4 * 0.010, delta=0.003)
        self.assertGreaterEqual(max(counted), 0.2 + 4 * 0.010)

    def test_one_thread_is_tried_where_the_cpu_trains_on_several(self):
        before, seen = torch.get_num_threads(), {}
        try:
            torch.set_num_threads(2)
            with mock.patch.object(blocks, "BLOCK_S", 0.1):
                watch = pipesim.watch(DataLoader(loaders.Numbers(8000), batch_size=8), probe=True,
                                      out=Path(FOLDER.name) / "t.yaml")
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    for i, _ in enumerate(watch):
                        threads = torch.get_num_threads()
                        seen[threads] = seen.get(threads, 0) + 1
                        loaders.burn(0.004 if threads > 1 else 0.002)
                        if i == 500:
                            break
            self.assertEqual(torch.get_num_threads(), 2, "put back")
        finally:
            torch.set_num_threads(before)
        self.assertEqual(set(seen), {1, 2})
        ratio = watch.watched.one_thread.steps_per_s / watch.watched.cached.steps_per_s
        self.assertAlmostEqual(ratio, 2, delta=0.5)
        self.assertIn("one_thread: 0.", watch.watched.recording.text)
        self.assertIn("set_num_threads(1)", watch.watched.report)

    def test_a_promise_exceeds_no_measured_ceiling(self):
        tuned = program.Tuned(100.0, 300.0, workers=4, prefetch_factor=2, line="")
        self.assertAlmostEqual(tuned.at_most(1.5).gain, 0.5)
        self.assertAlmostEqual(tuned.at_most(9).gain, 2)
        self.assertAlmostEqual(tuned.at_most(0.9).gain, 0)

    def test_a_prediction_that_misses_the_loop_says_so(self):
        self.assertFalse(answers.beside_measured(105, 100, 0)[1])
        text, misses = answers.beside_measured(150, 100, 90)
        self.assertTrue(misses)
        self.assertIn("+50% off", text)
        self.assertIn("Warning", text)
        self.assertEqual(answers.doubted("loader-bound (confidence high): "), "loader-bound (confidence low): ")

    def test_a_prediction_with_the_workers_start_is_held_against_the_whole_epoch(self):
        text, misses = answers.beside_measured(110, 400, 100)
        self.assertIn("+10% off the epoch with its start, 100", text)
        self.assertFalse(misses)

    def test_only_the_first_rank_of_a_host_reports(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4)
        with mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": "4", "LOCAL_RANK": "1"}):
            self.assertEqual(walked(loader)[2], "")

    def test_ranks_share_the_host(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4)
        with mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": "4", "LOCAL_RANK": "0"}):
            text = walked(loader)[1].watched.recording.text
        self.assertIn("accelerators: 4", text)
        self.assertIn("samples: 256", text)

    def test_a_job_of_several_ranks_is_not_probed(self):
        for variable in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
            loader, errors = DataLoader(loaders.Numbers(), batch_size=4), io.StringIO()
            watch = pipesim.watch(loader, probe=True, out=Path(FOLDER.name) / "r.yaml", quiet=True)
            with mock.patch.dict(os.environ, {variable: "2"}), contextlib.redirect_stderr(errors):
                self.assertEqual(sum(1 for _ in watch), len(loader), "as many steps on each rank")
            self.assertEqual(watch.watched.as_it_is.steps, len(loader) - blocks.WARM_UP_STEPS)
            self.assertEqual(errors.getvalue().count("not probed: each of the job's 2 ranks"), 1)

    def test_a_process_group_is_a_job_of_several_ranks(self):
        with mock.patch.multiple(ranks.distributed, is_initialized=lambda: True, get_world_size=lambda: 3,
                                 get_rank=lambda: 1):
            self.assertEqual(ranks.ranks_of_job(), 3)
            self.assertFalse(ranks.is_first_rank())

    def test_any_iterable_can_be_watched(self):
        seen, _, text = walked([1, 2, 3, 4, 5, 6])
        self.assertEqual(seen, [1, 2, 3, 4, 5, 6])
        self.assertIn("no DataLoader", text)
        with self.assertRaises(pipesim.ConfigurationError):
            pipesim.watch(3)

    def test_a_loader_that_fails_in_the_recording_leaves_the_report(self):
        loader = DataLoader(loaders.Raises(30), batch_size=4)
        loader.dataset.count = 64
        seen = []
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            for batch in pipesim.watch(loader):
                seen.append(batch)
                if len(seen) == 6:
                    break
        self.assertIn("No advice", out.getvalue())

    def test_the_report_of_an_inner_loop_is_no_step_of_the_outer(self):
        def watched(batches):
            return pipesim.watch(list(range(batches)), quiet=True)

        outer = watched(20)
        with mock.patch.object(watcher.Watch, "_report", lambda watch: time.sleep(0.3)):
            for _ in outer:
                for _ in watched(8):
                    pass
        self.assertGreater(outer.watched.as_it_is.steps, 10)
        self.assertLess(outer.watched.as_it_is.step_s, 0.3)
        self.assertLess(outer.watched.whole_epoch.step_s, 0.3)

    def test_two_loaders_in_turn_draw_as_without_watch(self):
        def order(around):
            torch.manual_seed(1)
            both = [around(DataLoader(loaders.Numbers(), batch_size=4, shuffle=True)) for _ in range(2)]
            return [(str(a), str(b)) for a, b in zip(*both)]

        def watched(loader):
            return pipesim.watch(loader, quiet=True, out=Path(FOLDER.name) / "watched.yaml")

        with mock.patch.object(watcher.Watch, "_report"):
            self.assertEqual(order(watched), order(lambda loader: loader))

    def test_threads_that_lack_cores_are_named(self):
        loop = watched.Watched(as_it_is=watched.Totals(steps=10, step_s=2.0), lacked_s=3.0, cpu_s=2.0, wall_s=2.0)
        with mock.patch.object(watched, "processors", lambda: 2):
            self.assertEqual(watched.step_of(loop, 8, threads=2, workers=0).queued, 1.5)
            self.assertEqual(watched.step_of(loop, 8, threads=1, workers=0).queued, 0.0)
            self.assertEqual(watched.step_of(loop, 8, threads=4, workers=0).queued, 0.0)

    def test_what_one_thread_waits_for_a_core_is_no_step(self):
        totals = watched.Totals(steps=10, waiting_s=1.0, step_s=2.0, queued_s=0.5)
        loop = watched.Watched(as_it_is=totals, cpu_s=1.5, wall_s=2.5)
        one = watched.step_of(loop, 8, threads=1, workers=2)
        self.assertAlmostEqual(one.points[-1][1], 0.15)
        self.assertAlmostEqual(one.beside_workers, 0.15)
        self.assertAlmostEqual(totals.steps_per_s, 10 / 3.0, msg="the loop's own rate has it")
        # Several threads wait for each other, too.
        self.assertAlmostEqual(watched.step_of(loop, 8, threads=2, workers=2).points[-1][1], 0.2)

    def test_watching_costs_less_than_a_hundredth_of_a_millisecond(self):
        items = list(range(20_000))

        def seconds(iterable):
            begin = time.perf_counter()
            for _ in iterable:
                pass
            return time.perf_counter() - begin

        def watched():
            watch = pipesim.watch(items)
            with mock.patch.object(watcher.Watch, "_report"):
                return seconds(watch)

        # A step of 1 ms would be 1 % slower by 10 us. The best of a few: others use the machine, too.
        plain = min(seconds(items) for _ in range(5))
        cost_s = (min(watched() for _ in range(5)) - plain) / len(items)
        self.assertLess(cost_s, 10e-6)


if __name__ == "__main__":
    watcher.BUDGET_S = 0.2
    with tempfile.TemporaryDirectory() as name:
        FOLDER = type("Folder", (), {"name": name})
        unittest.main(exit=True)
