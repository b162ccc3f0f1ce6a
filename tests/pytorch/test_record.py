#!/usr/bin/env python3
"""pipesim.record on loaders of every kind. Costs are compared with what the data set takes by
construction, with room for a busy machine; exact figures are CPU times. Exit code 77: no PyTorch here."""

import dataclasses
import inspect
import math
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import timeit
import types
import unittest
import warnings
from pathlib import Path
from unittest import mock

try:
    import torch
    from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, SequentialSampler
    from torch.utils.data import TensorDataset, default_collate
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python"
sys.path[:0] = [str(PACKAGE), str(HERE)]

import loaders  # noqa: E402
import pipesim  # noqa: E402
from pipesim import answers, arithmetic, batches, check, costs, experiment, handing_over, probes, program  # noqa: E402
from pipesim import reading, shards, source, targets, trials, turns  # noqa: E402
from pipesim.apart import Progress, what_raised  # noqa: E402
from pipesim.description import longer_step  # noqa: E402
from pipesim.kept import KEPT_SHARE, share_again  # noqa: E402
from pipesim.lock import waits_for_lock  # noqa: E402
from pipesim.opening import Opened  # noqa: E402
from pipesim.order import Continued  # noqa: E402
from pipesim import step as timing  # noqa: E402
from pipesim.recorder import hang_message  # noqa: E402
from pipesim.step import time_step  # noqa: E402
from pipesim.trials import Mixed, Recorder, batch_sizes, trial_loader  # noqa: E402
from pipesim.walks import Loop, Take, Walk  # noqa: E402

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]) else None
BUDGET_S = 0.1  # of a trial


def record(target, **settings):
    folder = tempfile.mkdtemp(dir=FOLDER.name)
    settings = {"budget_s": BUDGET_S, "limit_s": 30, "quiet": True, "out": Path(folder) / "r.yaml", **settings}
    return pipesim.record(target, **settings)


def least_prepare(target, **settings):
    """The mean CPU time of a sample, the least of three recordings: a processor that is taken away
    meanwhile counts as used, and one that is away for long shifts a short recording's mean."""
    return min(arithmetic.mean(record(target, **settings).costs.prepare) for _ in range(3))


def value(recording, key):
    """The text of a key, such as loader.send."""
    section, name = key.split(".")
    inside = recording.text.split(f"\n{section}:\n")[1]
    return re.search(rf"^  {name}: ([^#\n]*)", inside, re.MULTILINE).group(1).strip()


class Arithmetic(unittest.TestCase):
    def test_durations_have_no_exponent_and_four_digits(self):
        cases = {0: "0", 3e-10: "0", 1.2e-8: "12ns", 1.23456e-4: "123.5us", 0.0040004: "4ms", 2.5: "2.5s", 75: "75s"}
        for seconds, text in cases.items():
            self.assertEqual(experiment.duration(seconds), text)

    def test_numbers_have_no_exponent_and_four_digits(self):
        for value, text in {895.12: "895.1", 12345.6: "12350", 0.25: "0.25", 5.0: "5"}.items():
            self.assertEqual(experiment.number(value), text)

    def test_a_summary_keeps_the_mean_and_the_tail(self):
        values = [0.001] * 990 + [0.1] * 10
        summed = arithmetic.summary(values)
        self.assertEqual(len(summed), arithmetic.VALUES)
        self.assertAlmostEqual(arithmetic.mean(summed), arithmetic.mean(values))
        self.assertAlmostEqual(max(summed), 0.1)

    def test_only_so_many_samples_waited_as_gave_up_their_core(self):
        self.assertEqual(arithmetic.longest([1.0, 5.0, 2.0, 4.0], 2), [0.0, 5.0, 0.0, 4.0])
        self.assertEqual(arithmetic.longest([1.0, 5.0], 3), [1.0, 5.0])

    def test_values_that_are_alike_become_a_number(self):
        self.assertEqual(len(arithmetic.summary([1.0, 1.0001, 0.9999])), 1)
        self.assertEqual(len(arithmetic.summary([1.0, 1.01, 0.99])), 3)

    def test_a_line_has_no_negative_part(self):
        self.assertEqual(arithmetic.line([(1, 3.0), (3, 7.0)]), (1.0, 2.0))
        base, slope = arithmetic.line([(1, 1.0), (10, 20.0)])
        self.assertEqual(base, 0.0)
        self.assertAlmostEqual(slope, 10.5 / 5.5)

    def test_a_line_meets_the_point_that_is_named(self):
        base, slope = arithmetic.line_to([(8, 1.8e-3), (16, 3.9e-3), (32, 9e-3)], 32, 9e-3)
        self.assertEqual(base, 0.0)
        self.assertAlmostEqual(32 * slope, 9e-3)

    def test_names_are_quoted_for_yaml(self):
        self.assertEqual(experiment.quoted('a "b"\\\n'), '"a \\"b\\"\\\\ "')


def takes(count, period_s, wall_s=0.001, cpu_s=0.0005, begin_s=10.0):
    """Batches that come every period_s, each after a next() of wall_s that costs cpu_s."""
    times = [begin_s + i * period_s for i in range(count)]
    return [Take(time - wall_s, time, cpu_s) for time in times]


class BatchSizes(unittest.TestCase):
    def test_only_an_epochs_last_batch_may_be_smaller(self):
        self.assertEqual(batch_sizes([8, 8, 8, 6, 8, 8], an_epoch=4), (8, None))
        self.assertEqual(batch_sizes([8, 6, 8, 8], an_epoch=4), (7.5, Mixed(6, 8, 4)))

    def test_without_an_epochs_length_any_difference_counts(self):
        self.assertEqual(batch_sizes([8, 8], an_epoch=None), (8, None))
        self.assertEqual(batch_sizes([8, 6], an_epoch=None), (7.0, Mixed(6, 8, 2)))


class Lock(unittest.TestCase):
    """How long another thread waits for the interpreter's lock."""

    def test_code_that_keeps_it_is_waited_for(self):
        numbers = range(300_000)  # some milliseconds in one native call
        # Where another program has the core of this thread, the call takes longer, and nobody keeps the lock.
        keeps_s = min(timeit.repeat(lambda: sum(numbers), number=1, repeat=5))
        waits_s = max(waits_for_lock(lambda: sum(numbers), 0.2, 2) for _ in range(3))
        self.assertGreater(waits_s, 0.3 * keeps_s)

    def test_sleep_lets_others_in(self):
        self.assertLess(waits_for_lock(lambda: time.sleep(0.005), 0.2, 2), 0.001)

    def test_a_loader_may_end(self):
        batches = iter([1, 2])
        self.assertGreaterEqual(waits_for_lock(lambda: next(batches), 10.0, 5), 0.0)


class LoopArithmetic(unittest.TestCase):
    """Each figure from a loop whose times are known."""

    def figures(self, made):
        import multiprocessing

        figures = []
        for worker in made:
            figures.append(probes.Figures(multiprocessing.get_context("fork")))
            for end in worker:
                row = [0.0] * probes.BATCH_COLUMNS
                row[probes.END] = end
                figures[-1].batches.append(*row)
        return figures

    def test_the_rate_leaves_out_the_first_batches(self):
        loop = Loop(takes=takes(2, 5.0) + takes(11, 0.1, begin_s=20.0))
        self.assertAlmostEqual(handing_over.rate(loop, 8, 2), 8 / 0.1)

    def test_receiving_is_cpu_time(self):
        loop = Loop(takes=takes(20, 0.01, wall_s=0.008, cpu_s=0.003))
        loop.takes[0].cpu = 1.0
        self.assertAlmostEqual(handing_over.receiving(loop), 0.003, msg="the first batch waits for the workers to start")

    def test_opening_is_what_it_takes_without_a_core(self):
        loop = Loop(takes=takes(20, 0.01))
        for take in loop.takes:
            take.opening, take.opening_cpu = 0.005, 0.001
        self.assertAlmostEqual(handing_over.opening(loop), 0.004)

    def test_unused_is_core_time_that_no_thread_took(self):
        rows = []
        for batch in range(12):
            row = [0.0] * probes.BATCH_COLUMNS
            row[probes.PROCESS_CPU], row[probes.FETCH_CPU] = 0.010 * batch, 0.008
            rows.append(row)
        loop = Loop(takes=takes(20, 0.007, cpu_s=0.003))  # 13 ms of CPU time a batch
        self.assertAlmostEqual(handing_over.unused(loop, [rows] * 2, cores=2), 2 * 0.007 - 0.013)
        self.assertEqual(handing_over.unused(loop, [rows] * 2, cores=1), 0.0)
        self.assertEqual(handing_over.unused(loop, [rows] * 2, cores=3), 0.0, msg="nobody waits for a core")
        self.assertEqual(handing_over.unused(Loop(takes=takes(2, 0.007)), [rows] * 2, cores=2), 0.0, msg="too short to tell")

    def test_threads_that_sleep_want_no_core(self):
        self.assertAlmostEqual(handing_over.cores_wanted(2, workers=4, asleep=0.0, taking=1.0), 2)
        self.assertAlmostEqual(handing_over.cores_wanted(8, workers=4, asleep=0.0, taking=1.0), 5)
        self.assertAlmostEqual(handing_over.cores_wanted(8, workers=4, asleep=0.75, taking=0.5), 1.5)
        self.assertAlmostEqual(handing_over.cores_wanted(1, workers=2, asleep=0.5, taking=0.0), 0.75)  # both asleep: a quarter
        rows = []
        for batch in range(12):  # a fetch of 40 ms, of them 8 ms on a core and 2 ms waiting for one
            row = [0.0] * probes.BATCH_COLUMNS
            row[probes.END], row[probes.FETCH_CPU], row[probes.QUEUED] = 0.040, 0.008, 0.002 * batch
            rows.append(row)
        self.assertAlmostEqual(handing_over.sleeping([rows]), 0.030)

    def test_a_hand_over_keeps_cores_from_others_as_far_as_they_stayed_idle(self):
        def parts(idle):
            return [round(part, 6) for part in handing_over.as_work(0.2, 0.3, 0.5, opens=0.7, idle=idle)]

        self.assertEqual(parts(0.0), [0.2, 0.3, 0.5, 0.4])
        self.assertEqual(parts(0.1), [0.2, 0.3, 0.6, 0.3])
        self.assertEqual(parts(0.5), [0.3, 0.2, 1.0, 0.0])
        self.assertEqual(parts(9.0), [0.5, 0.0, 1.2, 0.0])
        for idle in (0.0, 0.1, 0.5, 9.0):
            send, serve, receive, latency = handing_over.as_work(0.2, 0.3, 0.5, opens=0.7, idle=idle)
            self.assertAlmostEqual(serve + receive + latency, 1.2, msg="the trainer's time stays what it was")
            self.assertAlmostEqual(send + serve, 0.5, msg="and the worker's")

    def test_taking_a_batch_over_fits_into_the_time_for_which_the_loop_waited(self):
        taken = record(loaders.Numbers(), batch_size=8).costs
        taken = dataclasses.replace(taken, serve=2.0, receive=1.0, receive_latency=1.0)
        taken.take_within(5.0)
        self.assertEqual((taken.serve, taken.receive, taken.receive_latency), (2.0, 1.0, 1.0))
        taken.take_within(1.0)
        self.assertEqual((taken.serve, taken.receive, taken.receive_latency), (0.5, 0.25, 0.25))

    def test_handing_over_is_timed_again_with_one_and_with_many_workers(self):
        recording = record(loaders.Numbers(), batch_size=8)
        of_many = recording.costs.of_many
        self.assertGreater(of_many.send + of_many.receive, 0)
        written = f"{{workers: {trials.many_workers()}, share: {experiment.duration(of_many.share)}, "
        self.assertIn(f"of_many: {written}", recording.text)
        self.assertIn(f"of_one: {{share: {experiment.duration(recording.costs.of_one.share)}, ", recording.text)
        self.assertGreaterEqual(trials.many_workers(), 4)
        taken = dataclasses.replace(recording.costs, serve=2.0, receive=1.0, receive_latency=1.0)
        taken.of_many = handing_over.HandOver(1.0, 1.0, 2.0, 2.0, 2.0)
        taken.of_one = handing_over.HandOver(1.0, 1.0, 4.0, 4.0, 0.0)
        taken.take_within(1.0)
        self.assertEqual(taken.of_many, handing_over.HandOver(1.0, 1.0, 0.5, 0.5, 0.5))
        self.assertEqual(taken.of_one, handing_over.HandOver(1.0, 1.0, 1.0, 1.0, 0.0))

    def test_other_workers_are_not_tried_where_batches_are_slow_large_or_few(self):
        recorder = trials.Recorder(DataLoader(loaders.Numbers(), batch_size=8), budget_s=2.0)
        for workers in (1, trials.many_workers()):
            self.assertTrue(recorder.allows(workers, batch_s=0.01, batch_bytes=1000))
            self.assertFalse(recorder.allows(workers, batch_s=1.0, batch_bytes=1000))
            self.assertFalse(recorder.allows(workers, batch_s=0.01, batch_bytes=1 << 50))

    def test_a_few_batches_of_each_worker_say_nothing(self):
        plain = handing_over.Plain([1.0], [1.0])
        seen = Loop(takes=takes(20, 0.01))
        rows = [1.0, 2.0, 3.0, 4.0, 5.0]
        def again(flow, *made):
            return handing_over.handing_over_again(flow, self.figures(made), plain, lock_wait=0.0)

        self.assertIsNotNone(again(seen, rows, rows))
        self.assertIsNone(again(seen, rows, rows[:3]))
        self.assertIsNone(again(None, rows, rows))

    def test_with_one_worker_the_wait_for_its_lock_is_counted_apart(self):
        flow = Loop(takes=takes(20, 0.01))
        for take in flow.takes:
            take.opening, take.opening_cpu = 0.006, 0.001
        rows = []
        for batch in range(6):  # each fetched in 4 ms
            row = [0.0] * probes.BATCH_COLUMNS
            row[probes.BEGIN], row[probes.END] = 0.01 * batch, 0.01 * batch + 0.004
            rows.append(row)
        one = [types.SimpleNamespace(batches=types.SimpleNamespace(read=lambda: rows))]
        plain = handing_over.Plain([1.0], [1.0])
        for lock_wait, latency in ((0.0, 0.005), (0.003, 0.002), (1.0, 0.001)):
            of_one = handing_over.handing_over_again(flow, one, plain, lock_wait)
            self.assertAlmostEqual(of_one.receive_latency, latency, msg=lock_wait)

    def test_a_hand_over_in_proportion_to_another(self):
        alone, beside = handing_over.HandOver(0.0, 1.0, 2.0, 4.0, 0.0), handing_over.HandOver(0.5, 2.0, 2.0, 2.0, 1.0)
        growth = beside.over(alone)
        self.assertEqual(growth, handing_over.HandOver(1.0, 2.0, 1.0, 0.5, 1.0))
        self.assertEqual(handing_over.HandOver(3.0, 3.0, 3.0, 3.0, 3.0).scaled(growth), handing_over.HandOver(3.0, 6.0, 3.0, 1.5, 3.0))

    def test_opening_counts_what_workers_send_and_is_put_back(self):
        from multiprocessing.reduction import ForkingPickler

        from pipesim import opening

        loads = ForkingPickler.loads
        with opening.timed_opening() as opened:
            loader = DataLoader(TensorDataset(torch.zeros(64, 4)), batch_size=4, num_workers=1)
            begin = time.perf_counter()
            batches = list(loader)
            spent = time.perf_counter() - begin
        self.assertEqual(len(batches), 16)
        self.assertGreater(opened.cpu, 0)
        self.assertGreater(opened.seconds, opened.cpu * 0.9)
        self.assertLess(opened.seconds, spent)
        self.assertIs(ForkingPickler.loads, loads)
        with self.assertRaises(KeyError), opening.timed_opening():
            raise KeyError
        self.assertIs(ForkingPickler.loads, loads)

    def test_a_busy_workers_lock_is_waited_for_five_times_a_tensor(self):
        self.assertAlmostEqual(handing_over.waiting_for_the_lock(0.0001, tensors=3), 0.0015)
        self.assertEqual(handing_over.waiting_for_the_lock(0.00001, tensors=1), 0.0, msg="a scheduler's noise")

    def test_arriving_counts_batches_that_the_loop_waits_for(self):
        # Two workers in turn; each batch comes 3 ms after it was made, while the loop waits.
        loop = Loop(takes=takes(8, 0.1, wall_s=0.05))
        made = [[take.got - 0.003 for take in loop.takes[worker::2]] for worker in range(2)]
        self.assertAlmostEqual(handing_over.arriving(loop, self.figures(made)), 0.003)

    def test_starting_a_worker_takes_this_process_its_time(self):
        recording = record(loaders.Numbers(), batch_size=8)
        launch_s = recording.costs.worker_launch
        self.assertGreater(launch_s, 0.0005)
        # iter() starts the workers and does little else.
        began = time.perf_counter()
        batches = iter(DataLoader(loaders.Numbers(), batch_size=8, num_workers=2))
        took = (time.perf_counter() - began) / 2
        del batches
        self.assertLess(abs(math.log(launch_s / took)), math.log(10))
        self.assertEqual(value(recording, "loader.worker_launch"), experiment.duration(launch_s))

    def test_start_up_is_a_workers_cpu_time_and_the_end_of_all(self):
        figures = self.figures([[], []])
        figures[0].head[probes.STARTED], figures[1].head[probes.STARTED] = 0.2, 0.5
        self.assertAlmostEqual(costs.startup(Loop(shutdown=0.2, gone=9.0), figures), 0.7)
        in_work = self.figures([[5.0, 9.4], [5.0, 9.9]])
        self.assertAlmostEqual(costs.startup(Loop(shutdown=2.0, gone=10.0), in_work), 0.1, msg="a batch in work is no end")

    def test_samples_read_files_where_they_open_one_each_or_read_a_sector(self):
        def reads(**figures):
            return reading.reads_files(reading.Reading(**figures), 100)

        self.assertTrue(reads(opens=100, read_bytes=900))
        self.assertTrue(reads(opens=1, read_bytes=60_000), msg="one archive")
        self.assertFalse(reads(opens=3, read_bytes=4_900), msg="modules of the first sample")
        self.assertFalse(reads(opens=0, read_bytes=60_000))

    def test_what_a_worker_opens_first_is_part_of_its_start(self):
        recording = record(loaders.OpensLate(400), batch_size=8)
        self.assertGreater(recording.costs.worker_opening, 0.04)
        self.assertGreater(recording.costs.worker_startup, 0.018)
        self.assertEqual(value(recording, "loader.worker_opening"), experiment.duration(recording.costs.worker_opening))
        self.assertLess(record(loaders.Burns(400), batch_size=8).costs.worker_opening, 0.03)

    def test_one_worker_whose_first_batch_is_slow_opens_nothing(self):
        others = [0.5] * 5  # seconds of a batch
        self.assertEqual(costs.opening_files(self.figures([[0.9, *others], [0.5, *others]])), (0.0, 0.0))
        self.assertAlmostEqual(sum(costs.opening_files(self.figures([[0.9, *others], [0.8, *others]]))), 0.3)

    def test_what_fetching_takes_more_in_a_worker_counts_unless_it_is_chance(self):
        self.assertAlmostEqual(arithmetic.surplus([3.0, 3.1, 2.9] * 10, [2.0, 2.1, 1.9] * 10), 1.0)
        self.assertEqual(arithmetic.surplus([1.0, 9.0, 2.0], [1.0, 8.0, 2.0]), 0.0)
        self.assertEqual(arithmetic.surplus([1.0] * 5, [2.0] * 5), 0.0)

    def test_sending_is_what_the_fetch_did_not_take(self):
        rows = []
        for batch in range(12):
            row = [0.0] * probes.BATCH_COLUMNS
            row[probes.PROCESS_CPU], row[probes.FETCH_CPU] = 0.010 * batch, 0.0075
            row[probes.SERVE_CPU] = 0.0005 * batch
            rows.append(row)
        self.assertAlmostEqual(handing_over.sending([rows]), 0.002)
        self.assertAlmostEqual(handing_over.serving([rows]), 0.0005)

    def test_a_thread_that_hands_over_memory_takes_its_time(self):
        context, serving = torch.multiprocessing.get_context("fork"), probes.Serving()
        before = serving.seconds()
        sent = context.Queue()
        taker = context.Process(target=sent.get)
        taker.start()
        sent.put(torch.zeros(4))
        taker.join()
        self.assertEqual(taker.exitcode, 0)
        self.assertGreater(serving.seconds(), before)

    def test_collate_splits_as_it_does_alone(self):
        base, slope = arithmetic.line_to([(1, 1.1e-3), (16, 2.6e-3)], 16, 5.2e-3)
        self.assertAlmostEqual(base, 2e-3)
        self.assertAlmostEqual(slope, 0.2e-3)


class WaitArithmetic(unittest.TestCase):
    def test_waiting_is_wall_less_cpu_less_queue_where_the_core_was_given_up(self):
        rows = [[0.010, 0.001, 0.002, 1.0], [0.010, 0.001, 0.002, 0.0]]
        self.assertEqual(costs.waits(rows, given_up=1), [0.010 - 0.001 - 0.002, 0.0])

    def test_a_first_sample_that_was_not_expected_to_be_long_waits_like_the_others(self):
        first = [0.010, 0.002, 0.0, probes.UNKNOWN]  # 8 ms in the run queue, which it does not know
        self.assertEqual(costs.waits([first] + [[0.010, 0.002, 0.008, 0.0]] * 2, given_up=3), [0.0] * 3)
        self.assertEqual(costs.waits([first] + [[0.003, 0.002, 0.0, 1.0]] * 2, given_up=3), [0.001] * 3)

    def test_of_short_samples_as_many_wait_as_gave_up_their_core(self):
        rows = [[5e-5, 1e-5, 0.0, probes.UNKNOWN], [2e-5, 1e-5, 0.0, probes.UNKNOWN], [0.01, 0.0, 0.0, 2.0]]
        self.assertEqual(costs.waits(rows, given_up=3), [5e-5 - 1e-5, 0.0, 0.01])


class Turns(unittest.TestCase):
    """Rows of two workers in batches of 8, each batch of which begins at another moment."""

    def rows(self, own, turn, draw=lambda: 1.0, queued=0.0, batches=40):
        """A sample takes `turn` of what both share, then `own`; seconds."""
        random.seed(1)
        free, clocks, rows = 0.0, [0.0, 0.0], [[], []]
        for sample in range(2 * 8 * batches):
            worker = clocks.index(min(clocks))
            if len(rows[worker]) % 8 == 0:
                clocks[worker] += random.uniform(0, own + turn)
            begin = clocks[worker]
            free = max(free if turn else 0.0, begin) + turn
            end = free + own * draw()
            clocks[worker] = end
            rows[worker].append([end - begin, 0.0, queued * (end - begin), 1.0, end])
        return rows

    def test_independent_samples_share_nothing(self):
        self.assertEqual(turns.time_of_turn(self.rows(0.003, 0)), 0)
        self.assertEqual(turns.time_of_turn(self.rows(0.003, 0, lambda: random.expovariate(1))), 0)

    def test_equal_samples_that_begin_together_share_nothing(self):
        rows = [[[0.00195, 0.0, 0.0, 1.0, 0.002 * k + late] for k in range(1, 200)] for late in (0.0, 0.00002)]
        self.assertGreater(len(turns.distances(rows)), turns.LEAST_ENDS)
        self.assertEqual(turns.time_of_turn(rows), 0)

    def test_two_workers_that_never_leave_it_idle_show_its_time(self):
        self.assertAlmostEqual(turns.time_of_turn(self.rows(0.001, 0.002)), 0.002, delta=0.0001)

    def test_what_is_idle_between_turns_is_told_from_the_turn(self):
        self.assertAlmostEqual(turns.time_of_turn(self.rows(0.003, 0.0015)), 0.0015, delta=0.0003)

    def test_a_core_is_no_lock_and_a_few_samples_show_nothing(self):
        self.assertEqual(turns.time_of_turn(self.rows(0.001, 0.002, queued=0.5)), 0)
        self.assertEqual(turns.time_of_turn(self.rows(0.001, 0.002, batches=4)), 0)

    def test_a_recording_knows_the_most_that_workers_load_together(self):
        for _ in range(3):  # a busy machine may hide it
            recording = record(loaders.Locks(), batch_size=8, budget_s=1)
            if recording.trials.turn_s:
                break
        self.assertAlmostEqual(float(value(recording, "storage.iops")), 480, delta=100)
        self.assertTrue([text for text in recording.warnings if "each other" in text], recording.warnings)

    def test_samples_that_wait_each_for_itself_share_nothing(self):
        # Equally long ones that begin together would end apart for ever.
        recording = record(loaders.Waits(), batch_size=8, budget_s=1)
        self.assertEqual(recording.trials.turn_s, 0)
        self.assertNotIn("iops", recording.text)


class Source(unittest.TestCase):
    TEXT = "x = 1\nloader = DataLoader(data(1),  # the best\n    batch_size=8, num_workers=n)\n"

    def changed(self, text, settings):
        call = source.find_call(text, source.Place("x.py"))
        return source.with_settings(text, call, settings)

    def test_a_keyword_is_replaced_and_another_added(self):
        changed = self.changed(self.TEXT, {"num_workers": 4, "prefetch_factor": 2})
        self.assertEqual(changed, self.TEXT.replace("num_workers=n", "num_workers=4, prefetch_factor=2"))

    def test_without_workers_what_needs_them_goes(self):
        text = "DataLoader(d, num_workers=4, prefetch_factor=8)\n"
        self.assertEqual(self.changed(text, source.loader_settings(0, 2, False)), "DataLoader(d, num_workers=0)\n")

    def test_arguments_by_position_are_known(self):
        text = "DataLoader(d, 32, False, None, None, 0)\n"
        self.assertEqual(self.changed(text, {"num_workers": 2, "prefetch_factor": 4}),
                         "DataLoader(d, 32, False, None, None, 2, prefetch_factor=4)\n")
        text = "DataLoader(d, 32, False, None, None, 4, prefetch_factor=4)\n"
        self.assertEqual(self.changed(text, source.loader_settings(0, 2, False)),
                         "DataLoader(d, 32, False, None, None, 0)\n")
        text = "DataLoader(d, 32, False, None, None, 4, None, False, False, 5.0)\n"
        self.assertIsNone(self.changed(text, source.loader_settings(0, 2, False)), "a timeout that must go")
        self.assertIsNone(self.changed("DataLoader(d, *more)\n", {"num_workers": 2}))

    def test_parentheses_around_the_last_argument_are_its_own(self):
        for before, after in (
            ("DataLoader(d, batch_size=(32))", "DataLoader(d, batch_size=(32), num_workers=2)"),
            ("DataLoader(d, batch_size=((32)),  # :)\n)", "DataLoader(d, batch_size=((32)), num_workers=2,  # :)\n)"),
            ("f(DataLoader(d, (8) ))", "f(DataLoader(d, (8), num_workers=2 ))"),
        ):
            self.assertEqual(self.changed(before, {"num_workers": 2}), after)

    def test_text_that_is_not_ascii_stays_whole(self):
        self.assertEqual(self.changed('DataLoader("ä", num_workers=1)', {"num_workers": 2}),
                         'DataLoader("ä", num_workers=2)')

    def test_settings_from_elsewhere_are_left_alone(self):
        self.assertIsNone(self.changed("DataLoader(d, **settings)", {"num_workers": 2}))

    def test_of_two_calls_the_one_in_the_function_is_meant(self):
        text = "def a():\n    return DataLoader(x)\ndef b():\n    return DataLoader(y)\n"
        self.assertIsNone(source.find_call(text, source.Place("x.py")))
        self.assertEqual(source.find_call(text, source.Place("x.py", 3, 4)).lineno, 4)

    def test_of_several_calls_the_one_that_may_have_made_the_loader_is_meant(self):
        loader = DataLoader(loaders.Numbers(), batch_size=8, shuffle=True, num_workers=2)
        text = ("train = DataLoader(x, batch_size=args.batch, shuffle=True, num_workers=2)\n"
                "test = DataLoader(y, batch_size=args.batch, num_workers=2)\n")
        self.assertEqual(source.find_call(text, source.Place("x.py"), loader).lineno, 1)
        for other in ("num_workers=4", "num_workers=2, persistent_workers=True", "num_workers=2, prefetch_factor=4",
                      "num_workers=2, batch_sampler=pairs, pin_memory=True"):
            text = f"DataLoader(x, batch_size=8, shuffle=True, {other})\n"
            self.assertIsNone(source.find_call(text, source.Place("x.py"), loader), other)
        ranks = "DataLoader(x, batch_size=8, sampler=ranks, num_workers=n, prefetch_factor=2)\n"
        self.assertIsNotNone(source.find_call(ranks, source.Place("x.py"), loader))

    def test_a_loader_made_in_the_data_sets_module_is_found_there(self):
        with tempfile.TemporaryDirectory() as folder:
            caller = os.path.join(folder, "main.py")
            Path(caller).write_text("for w in (2, 4):\n    DataLoader(x, batch_size=64, num_workers=w)\n")
            for batch, path in ((64, caller), (8, loaders.__file__)):
                loader = DataLoader(loaders.Numbers(), batch_size=batch)
                self.assertEqual(source.place_in_program(loader, caller).path, path)
            self.assertIsNone(source.place_in_program(DataLoader(loaders.Numbers(), batch_size=16), caller))


class Costs(unittest.TestCase):
    def test_cpu_time_of_samples_is_prepare_cost(self):
        self.assertAlmostEqual(least_prepare(loaders.Burns(), batch_size=8), 0.002, delta=0.0003)

    def test_burning_is_no_waiting(self):
        recording = record(loaders.Burns(), batch_size=8)
        self.assertEqual(recording.costs.wait, [])
        self.assertEqual(value(recording, "prepare.kind"), "burn")

    def test_waiting_is_prepare_wait(self):
        recording = record(loaders.Waits(), batch_size=8)
        self.assertGreater(arithmetic.mean(recording.costs.wait), 0.0025)
        self.assertLess(arithmetic.mean(recording.costs.prepare), 0.001)
        self.assertEqual(recording.trials.reading.opens, 0)

    def test_a_drawn_cost_becomes_a_distribution(self):
        recording = record(loaders.DrawsItsCost(), batch_size=8)
        drawn = recording.costs.prepare
        self.assertIn("empirical", value(recording, "prepare.cost"))
        self.assertGreater(max(drawn), 5 * min(drawn))

    def test_collate_is_measured_apart(self):
        recording = record(loaders.Numbers(), batch_size=8, collate_fn=loaders.to_own)
        whole = recording.costs.collate_batch + 8 * recording.costs.collate_sample
        self.assertAlmostEqual(whole, 0.003, delta=0.001)
        self.assertGreater(recording.costs.collate_batch, 0.002, "a fixed cost belongs to the batch")

    def test_large_batches_take_longer_to_share(self):
        # Of the six batches that a short trial makes, one that was disturbed makes any difference look like chance.
        small = record(loaders.Numbers(), batch_size=8, budget_s=0.5)
        large = record(loaders.Pictures(), batch_size=32, budget_s=0.5)
        self.assertGreater(large.costs.share, small.costs.share)
        self.assertEqual(value(large, "dataset.shape"), "[3, 448, 448]")
        self.assertEqual(value(large, "dataset.dtype"), "uint8")
        self.assertEqual(value(large, "dataset.tensors"), "2")

    def test_files_are_seen(self):
        path = Path(FOLDER.name) / "picture"
        path.write_bytes(bytes(100_000))
        recording = record(loaders.Files(path), batch_size=8)
        self.assertGreater(recording.trials.reading.opens, 0)
        self.assertAlmostEqual(recording.costs.read_bytes, 100_000, delta=5_000)

    def test_a_step_is_timed_by_batch_size(self):
        recording = record(loaders.Numbers(), batch_size=8, step=loaders.make_step())
        self.assertEqual([samples for samples, _ in recording.step.points], [2, 4, 8])
        self.assertGreater(recording.step.points[-1][1], 0.002)
        on_one = r"(, threads: \d+(, one_thread: [\d.e-]+)?)?"
        step = r"^\{base: [\d.]+m?s, per_sample: [\d.]+[mun]?s?" + on_one + r"\}$"
        self.assertRegex(value(recording, "device.step"), step)

    def test_a_step_is_timed_on_batches_of_several_lengths(self):
        def step(batch):
            loaders.burn(0.001 * batch.shape[1])

        points = record(loaders.Padded(), batch_size=8, collate_fn=loaders.pad, step=step).step.points
        self.assertAlmostEqual(points[-1][1], 0.003, delta=0.0006, msg="the mean of batches of 1 to 5 ms")
        self.assertAlmostEqual(points[0][1], 0.003, delta=0.0006, msg="a part in proportion")

    def test_a_step_whose_threads_lacked_cores_is_timed_again(self):
        clock = iter(range(1000))
        with mock.patch.object(timing, "queued_of_all_threads", lambda: min(4, next(clock))):
            times = time_step(loaders.make_step(), [(torch.zeros(4, 16),)], 4)
        self.assertEqual(times.queued, 0)
        with mock.patch.object(timing, "queued_of_all_threads", lambda: next(clock)):
            recording = record(loaders.Numbers(), batch_size=8, step=loaders.make_step())
        self.assertRegex(" ".join(recording.warnings), "busy: the threads of a training step lacked a core for [1-9]")

    def test_a_data_set_that_keeps_its_samples_gets_a_warning_and_no_advice(self):
        recording = record(loaders.Keeps(4000), batch_size=8)
        self.assertRegex(" ".join(recording.warnings), "keeps its samples: loading one again takes [0-9]+\\.[0-9]% of")
        self.assertIn("No advice on workers", recording.answer())
        self.assertFalse([text for text in record(loaders.Burns(), batch_size=8).warnings if "keeps" in text])

    def test_one_sample_that_was_held_up_is_not_one_that_is_kept(self):
        def share(first_s):
            return share_again(lambda i: time.sleep(100e-6), list(range(len(first_s))), first_s, 1.0)

        self.assertGreater(share([1.0] + 15 * [200e-6]), KEPT_SHARE)
        self.assertGreater(share([1.0, 0.5] + 14 * [200e-6]), KEPT_SHARE)
        self.assertLess(share([1.0] + 15 * [0.1]), KEPT_SHARE)

    def test_workers_are_launched_as_fast_as_in_the_quietest_trial(self):
        figures = {"workers": [None] * 2, "many": [None] * 4, "training": [None] * 2, "batches": [None]}
        loops = {"workers": Loop(began=1.0, started=1.5), "many": Loop(began=1.0, started=1.04), "batches": Loop()}
        self.assertAlmostEqual(costs.launching(loops, figures), 0.01)
        beside_a_step = {"training": Loop(began=1.0, started=1.06)}
        self.assertAlmostEqual(costs.launching(beside_a_step, figures), 0.03)

    def test_trials_with_more_workers_than_cores_are_no_matter_for_a_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            many = trial_loader(DataLoader(loaders.Numbers()), None, 1000, loaders.Numbers(), default_collate, None)
        self.assertEqual(many.num_workers, 1000)

    def test_a_part_of_a_batch_that_lacked_cores_is_left_out(self):
        blocks = iter([timing.Timed(0.004, 0.0), timing.Timed(0.2, 0.9), timing.Timed(0.003, 0.0)])
        with mock.patch.object(timing, "_time", lambda step, batches: next(blocks)):
            with mock.patch.object(timing, "holds_a_core", lambda cpu_s, wall_s: False):
                times = time_step(loaders.make_step(), [(torch.zeros(8, 16),)], 8)
        self.assertEqual(times.points, [(4, 0.003), (8, 0.004)])

    def test_a_step_beside_workers_is_a_loop_over_fresh_batches(self):
        seen, data = [], loaders.Numbers()

        def step(batch):
            seen.append(os.getpid())
            loaders.make_step()(batch)

        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        recording = record(data, batch_size=8, step=step)
        self.assertEqual(set(seen), {os.getpid()}, "the step trains in the caller")
        many = trials.many_workers()
        self.assertEqual(list(recording.costs.training), [costs.WORKERS, many])
        for rate in recording.costs.training.values():
            self.assertGreater(rate, 0)
            # The step alone limits the rate from above.
            self.assertLess(rate, 8 / (0.5 * recording.step.points[0][1]))
        self.assertIn("2 workers and the step ", recording.text)
        self.assertIn(f"{many} workers and the step ", recording.text)
        self.assertGreater(recording.step.beside_workers, 0.002)
        self.assertGreater(recording.step.beside_many, 0.002)

    def test_many_workers_have_the_step_that_they_slow_down(self):
        times = timing.StepTimes("cpu", 1, [(8, 0.010)], None, None, beside_workers=0.012, beside_many=0.015)
        self.assertAlmostEqual(longer_step(times, None, False)[0], 0.002)
        self.assertAlmostEqual(longer_step(times, None, False, many=True)[0], 0.005)
        times.beside_many = None
        self.assertAlmostEqual(longer_step(times, None, False, many=True)[0], 0.002)

    def test_how_long_workers_start_is_no_training(self):
        loader = DataLoader(loaders.Numbers(), batch_size=8, worker_init_fn=lambda _: time.sleep(5 * BUDGET_S))
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        self.assertGreater(record(loader, step=loaders.make_step()).costs.training[costs.WORKERS], 0)

    def test_a_step_that_fails_beside_workers(self):
        calls = []

        def step(batch):
            calls.append(1)
            if len(calls) > 12 + costs.WORKERS and isinstance(batch[0], torch.Tensor) and batch[0].is_shared():
                raise ValueError("no shared memory, please")
            time.sleep(0.002)

        with self.assertRaisesRegex(pipesim.RecordingFailed, "training beside 2 workers failed: ValueError: no shared"):
            record(loaders.Numbers(), batch_size=8, step=step)

    def test_a_step_that_waits_holds_no_core(self):
        recording = record(loaders.Numbers(), batch_size=8, step=loaders.wait_for_a_device)
        self.assertIn("base: ", value(recording, "device.emulated"))
        self.assertEqual(value(recording, "model.sync_every"), "1")


class Kinds(unittest.TestCase):
    def test_iterable_data_sets_shard_in_their_workers(self):
        loader = DataLoader(loaders.Stream(48), batch_size=8, num_workers=2, worker_init_fn=loaders.shard)
        recording = record(loader, budget_s=1)  # time to find the end of 24 ms of work
        self.assertEqual(value(recording, "dataset.samples"), "48")
        self.assertEqual((loader.dataset.first, loader.dataset.last), (0, 48))

    def test_a_stream_that_workers_repeat_gets_a_warning(self):
        whole = record(loaders.Stream(48), batch_size=8)
        self.assertTrue([text for text in whole.warnings if "do not share the stream" in text], whole.warnings)
        tuned = program.Tuned(1.0, 2.0, workers=4, prefetch_factor=2, line="")
        self.assertIn("now 4 workers repeat it", answers.advice(whole, tuned))
        for loader in (DataLoader(loaders.Stream(48), batch_size=8, worker_init_fn=loaders.shard, num_workers=2),
                       DataLoader(loaders.Numbers(), batch_size=8)):
            shared = record(loader)
            self.assertFalse([text for text in shared.warnings if "do not share" in text], shared.warnings)
            self.assertNotIn("repeat", answers.advice(shared, tuned))

    def test_a_stream_of_fewer_parts_than_workers_gets_a_warning(self):
        def of(*counts):
            made = [types.SimpleNamespace(count=types.SimpleNamespace(value=count)) for count in counts]
            return [types.SimpleNamespace(batches=batches) for batches in made]

        self.assertEqual(shards.workers_served({"many": of(3, 2, 0, 0), "workers": of(1, 1)}), (2, 4))
        self.assertEqual(shards.workers_served({"many": of(0, 0), "workers": of(1, 1)}), (2, 2), msg="was left out")
        self.assertIn("of 4 workers 2 got samples", shards.warning(2, 4))
        self.assertIn("only 2 workers get samples", shards.advice(9, 2, 4))
        self.assertIn("parts for 9 workers", shards.advice(9, 4, 4))
        self.assertEqual(shards.advice(4, 4, 4), "")
        texts = record(DataLoader(loaders.Stream(4000), batch_size=8, worker_init_fn=loaders.shard)).warnings
        self.assertTrue([text for text in texts if "workers at least" in text], texts)

    def test_a_stream_of_batches_is_checked_and_keeps_its_batches(self):
        loader = DataLoader(loaders.Stream(48), batch_size=None)
        other = check.with_settings(loader, workers=1, prefetch_factor=2, persistent=True)
        self.assertEqual(len(list(other)), 48)
        tuned = program.Tuned(1.0, 2.0, 1, 2, "DataLoader(dataset, batch_size=1, num_workers=1, prefetch_factor=2)")
        self.assertEqual(answers.line_for(loader, tuned),
                         "DataLoader(dataset, batch_size=None, num_workers=1, prefetch_factor=2)")
        pairs = DataLoader(loaders.Numbers(), batch_sampler=loaders.Pairs(64))
        tuned.line = "DataLoader(dataset, batch_size=2, shuffle=True, num_workers=1, drop_last=True)"
        self.assertEqual(answers.line_for(pairs, tuned), "DataLoader(dataset, batch_sampler=batch_sampler, num_workers=1)")

    def test_batches_of_the_users_own_mappings_reach_the_step_as_they_are(self):
        recording = record(loaders.Numbers(), batch_size=8, collate_fn=loaders.to_encoding,
                           step=lambda batch: batch.images.sum())
        self.assertEqual(recording.step.device, "cpu")
        halved = batches.first_samples(loaders.to_encoding([(torch.ones(3), 0)] * 4), 2, 4)
        self.assertEqual(halved.images.shape, (2, 3))

    def test_an_endless_stream_is_cut(self):
        self.assertGreater(int(value(record(loaders.Stream(10**9), batch_size=4), "dataset.samples")), 10_000)

    def test_batch_samplers_nested_samples_named_tuples_and_bulk_loading(self):
        pairs = DataLoader(loaders.Numbers(), batch_sampler=loaders.Pairs(64))
        self.assertEqual(value(record(pairs), "loader.batch_size"), "2")
        self.assertEqual(value(record(loaders.Nested(), batch_size=4), "dataset.tensors"), "4")
        self.assertEqual(value(record(loaders.Points(), batch_size=4), "dataset.tensors"), "2")
        self.assertGreater(arithmetic.mean(record(loaders.WaitsOnce(), batch_size=8).costs.wait), 0.02 / 8)
        self.assertAlmostEqual(least_prepare(loaders.Bulk(), batch_size=8), 0.004 / 8, delta=0.0002)

    def test_batches_that_differ_get_their_mean_and_a_warning(self):
        buckets = DataLoader(loaders.Burns(), batch_sampler=loaders.Buckets(30, [2, 4, 12]))
        # The mean of those seen, 6 where they are many: 3 of them take 36 ms of CPU time.
        recording = record(buckets, step=loaders.make_step(), budget_s=0.5)
        self.assertAlmostEqual(float(value(recording, "loader.batch_size")), 6, delta=1)
        self.assertIn("# the mean: batches have 2 to 12 samples", recording.text)
        [warning] = [text for text in recording.warnings if "2 to 12 samples" in text]
        mean = float(re.search(r"([\d.]+) on average", warning)[1])
        self.assertAlmostEqual(mean, 6, delta=1.5)
        self.assertAlmostEqual(float(value(recording, "dataset.samples")), 30 * mean, delta=1)
        # The step was timed on the first batch, which has 2 samples.
        self.assertEqual([samples for samples, _ in recording.step.points], [1, 2])

    def test_a_sample_costs_the_same_whichever_trial_saw_which_sizes(self):
        buckets = DataLoader(loaders.Burns(), batch_sampler=loaders.Buckets(30, [2, 4, 12]))
        self.assertAlmostEqual(least_prepare(buckets, budget_s=0.5), 0.002, delta=0.0005)

    def test_a_batch_samplers_last_batch_may_be_smaller(self):
        sampler = BatchSampler(SequentialSampler(range(30)), 8, drop_last=False)
        recording = record(DataLoader(loaders.Numbers(), batch_sampler=sampler))
        self.assertEqual(value(recording, "loader.batch_size"), "8")
        self.assertFalse([text for text in recording.warnings if "batch sampler" in text])

    def test_without_batching_a_sample_is_a_batch(self):
        recording = record(DataLoader(loaders.Numbers(), batch_size=None))
        self.assertEqual(value(recording, "loader.batch_size"), "1")

    def test_a_list_of_samples_is_a_data_set(self):
        self.assertEqual(value(record([torch.zeros(4)] * 32, batch_size=4), "dataset.shape"), "[4]")

    def test_settings_of_the_loader_are_taken_over(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4, shuffle=True, drop_last=True, num_workers=3,
                            prefetch_factor=5, persistent_workers=True)
        recording = record(loader)
        expected = {"workers": "3", "prefetch_factor": "5", "shuffle": "true", "drop_last": "true",
                    "persistent_workers": "true", "kind": "process", "start_method": "fork"}
        for key, text in expected.items():
            self.assertEqual(value(recording, f"loader.{key}"), text, key)

    def test_a_sampler_of_its_own_may_shuffle(self):
        for shuffle in (True, False):
            sampler = DistributedSampler(loaders.Numbers(), num_replicas=2, rank=0, shuffle=shuffle)
            recording = record(DataLoader(loaders.Numbers(), batch_size=4, sampler=sampler))
            self.assertEqual(value(recording, "loader.shuffle"), str(shuffle).lower())

    def test_the_line_keeps_what_the_loader_was_given(self):
        numbers, line = loaders.Numbers(), "DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2, timeout=7)"
        tuned = program.Tuned(1.0, 2.0, workers=2, prefetch_factor=2, line=line)
        plain = DataLoader(numbers, batch_size=4, shuffle=True)
        self.assertEqual(answers.line_for(plain, tuned), line.replace(", timeout=7", ""))
        own = DataLoader(numbers, batch_size=4, sampler=RandomSampler(numbers, replacement=True), num_workers=1,
                         timeout=7, collate_fn=list, generator=torch.Generator(), worker_init_fn=print)
        self.assertEqual(
            answers.line_for(own, tuned),
            "DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=2, collate_fn=collate_fn, "
            "worker_init_fn=worker_init_fn, generator=generator, timeout=7)")

    def test_only_what_changes_is_named(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4, num_workers=2)
        recording = type("Recording", (), {"loader": loader})
        tuned = program.Tuned(1.0, 2.0, workers=4, prefetch_factor=2, line="")
        self.assertEqual(answers.changes(recording, tuned), {"num_workers": 4})


class Threads(unittest.TestCase):
    """A step that is faster on one thread, as beside programs that keep cores busy."""

    def test_the_recording_knows_the_step_on_one_thread(self):
        before = torch.get_num_threads()

        def step(batch):
            time.sleep(0.0001)
            loaders.burn(0.004 if torch.get_num_threads() > 1 else 0.001)

        try:
            torch.set_num_threads(2)
            recording = record(loaders.Numbers(), batch_size=8, step=step)
        finally:
            torch.set_num_threads(before)
        text = recording.text
        self.assertIn("threads: 2", text)
        times = float(re.search(r"one_thread: ([0-9.]+)", text)[1])
        self.assertLess(times, 0.6)
        self.assertGreater(times, 0.1)

    def test_the_advice_names_them(self):
        recording = mock.Mock(loader=DataLoader(loaders.Numbers()), place=None)
        recording.trials.keeps_samples, recording.trials.served = False, None
        tuned = program.Tuned(1.0, 2.0, workers=0, prefetch_factor=2, line="DataLoader(...)", threads=1)
        self.assertIn("torch.set_num_threads(1)", answers.advice(recording, tuned))

    def test_a_check_sets_them_and_puts_them_back(self):
        before, seen = torch.get_num_threads(), set()
        loader = DataLoader(loaders.Numbers(), batch_size=8)
        tuned = program.Tuned(1.0, 1.0, workers=0, prefetch_factor=2, line="", threads=before + 1)
        with mock.patch.multiple(check, ROUNDS=1, ROUND_S=0.1):
            check.check(loader, tuned, 8, lambda batch: seen.add(torch.get_num_threads()), Progress(quiet=True))
        self.assertEqual(seen, {before, before + 1})
        self.assertEqual(torch.get_num_threads(), before)

    def test_a_step_itself_may_be_named(self):
        self.assertTrue(targets.needs_an_argument(lambda batch: None))
        self.assertFalse(targets.needs_an_argument(loaders.make_step))
        self.assertFalse(targets.needs_an_argument(loaders.Numbers))

    def test_workers_that_nothing_takes_are_refused(self):
        loader = DataLoader(loaders.Numbers())
        for target in (loader, lambda: loader):
            self.assertIs(targets.made(target, "x:y", None), loader)
            with self.assertRaisesRegex(pipesim.ConfigurationError, "x:y takes no num_workers, so --workers would"):
                targets.made(target, "x:y", 3)
        self.assertEqual(targets.made(lambda num_workers: num_workers, "x:y", 3), 3)

    def test_a_step_of_a_loop_waits_for_no_core(self):
        waits = iter([0.0, 0.25, 1.0, 1.0])  # of the thread in the run queue, before and after each step
        walk = Walk(DataLoader(loaders.Numbers(), batch_size=8), Opened())
        with mock.patch.object(walk, "queue", mock.Mock(seconds=lambda: next(waits))):
            walk.train(lambda batch: time.sleep(0.3), None)
            walk.train(lambda batch: time.sleep(0.1), None)
        self.assertAlmostEqual(walk.loop.steps[0], 0.05, delta=0.04)
        self.assertAlmostEqual(walk.loop.steps[1], 0.1, delta=0.04)


class Check(unittest.TestCase):
    def checked(self, promised):
        loader = DataLoader(loaders.Waits(4000), batch_size=8)
        tuned = program.Tuned(1.0, promised, workers=2, prefetch_factor=2, line="")
        with mock.patch.multiple(check, ROUNDS=1, ROUND_S=0.5):
            return check.check(loader, tuned, 8, None, Progress(quiet=True))

    def test_a_promise_is_held_against_what_two_workers_gain(self):
        checked = self.checked(promised=1.3)
        self.assertTrue(checked.kept, checked.text())
        self.assertIn("came true", checked.text())
        checked = self.checked(promised=40.0)
        self.assertFalse(checked.kept, checked.text())
        self.assertIn("did NOT", checked.text())

    def test_a_promise_from_another_rate_is_no_proof(self):
        tuned = program.Tuned(100.0, 120.0, workers=2, prefetch_factor=2, line="")
        self.assertNotIn("Warning", check.Checked(100.0, 130.0, tuned).text())
        self.assertIn("Warning: the loader as it is was predicted +300% off", check.Checked(25.0, 130.0, tuned).text())

    def test_where_settings_are_advised_the_prediction_s_own_next_step_is_left_out(self):
        verdict = "io-bound\nWhy   it waits\nNext  faster storage\n      in memory:\n  pipesim predict\n\n5 samples/s\n"
        self.assertEqual(answers.without_next(verdict), "io-bound\nWhy   it waits\n\n5 samples/s\n")

    def test_the_line_names_the_start_method_as_it_can_be_pasted(self):
        loader = DataLoader(loaders.Numbers(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
        tuned = program.Tuned(1.0, 2.0, 3, 2, "DataLoader(dataset, batch_size=4, num_workers=3)")
        self.assertIn('multiprocessing_context="spawn"', answers.line_for(loader, tuned))

    def test_the_tuned_loader_keeps_every_other_argument(self):
        numbers = loaders.Numbers()
        given = dict(
            batch_size=4, sampler=RandomSampler(numbers), num_workers=1, collate_fn=list, pin_memory=True,
            drop_last=True, timeout=7, worker_init_fn=print, multiprocessing_context="spawn",
            generator=torch.Generator(), in_order=False)
        known = inspect.signature(DataLoader).parameters
        # The first three make the sampler, the next two are tuned, the last is deprecated.
        others = {"dataset", "shuffle", "batch_sampler", "prefetch_factor", "persistent_workers", "pin_memory_device"}
        self.assertLessEqual(set(known), {*given, *others}, "PyTorch has a new argument")
        given = {name: value for name, value in given.items() if name in known}
        own = DataLoader(numbers, **given)
        tuned = check.with_settings(own, 3, 5, True)
        kept = given.keys() - {"num_workers"}
        self.assertEqual({name: getattr(tuned, name) for name in kept}, {name: getattr(own, name) for name in kept})
        self.assertEqual((tuned.num_workers, tuned.prefetch_factor, tuned.persistent_workers), (3, 5, True))


class LeavesAlone(unittest.TestCase):
    def test_objects_and_random_streams(self):
        dataset = loaders.Remembers()
        generator = torch.Generator().manual_seed(7)
        loader = DataLoader(dataset, batch_size=4, shuffle=True, generator=generator)
        torch.manual_seed(3), random.seed(3)

        def state():
            handler = signal.getsignal(signal.SIGCHLD)
            return torch.get_rng_state(), random.getstate(), generator.get_state(), torch.get_num_threads(), handler

        before = state()
        record(loader, step=lambda batch: torch.rand(3))
        for was, now in zip(before, state()):
            self.assertTrue(torch.equal(was, now) if isinstance(was, torch.Tensor) else was == now)
        self.assertEqual(dataset.seen, [])
        self.assertEqual(loader.num_workers, 0)


    def test_the_start_method_is_still_to_be_chosen(self):
        code = (
            "import multiprocessing, loaders, pipesim\n"
            "if __name__ == '__main__':\n"
            "    pipesim.record(loaders.make_loader(0), step=loaders.wait_for_a_device, budget_s=0.1, quiet=True)\n"
            "    assert multiprocessing.get_start_method(allow_none=True) is None\n"
        )
        environment = {**os.environ, "PYTHONPATH": f"{PACKAGE}:{HERE}", "PYTHONWARNINGS": "ignore"}
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=FOLDER.name,
                                env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)


class Trials(unittest.TestCase):
    def test_no_trial_sees_what_another_left_in_memory(self):
        record(loaders.KnowsItsProcess(), batch_size=8)

    def test_each_goes_on_where_the_last_one_stopped(self):
        order = Continued(range(10))
        order.left = 4
        self.assertEqual(list(order), [0, 1, 2, 3])
        order.go_on_to(8)
        order.left = 4
        self.assertEqual(list(order), [8, 9, 0, 1])

    def test_an_order_without_batches_ends(self):
        order = Continued([])
        order.left = 4
        self.assertEqual(list(order), [])


class Faults(unittest.TestCase):
    def check(self, error, pattern, target, **settings):
        with self.assertRaisesRegex(error, pattern):
            record(target, batch_size=8, **settings)

    def test_a_data_set_that_raises(self):
        self.check(pipesim.RecordingFailed, "at index 37: ValueError: a broken picture", loaders.Raises())

    def test_what_a_worker_raised_is_told_by_its_own_line(self):
        try:
            list(DataLoader(loaders.Raises(), batch_size=8, num_workers=1))
        except ValueError as error:
            text = what_raised(error)
        self.assertRegex(text, r"^ValueError: a broken picture \(.*loaders.py:\d+\), in a worker process$")

    def test_the_index_is_known_where_batches_are_timed(self):
        probe = probes.Probe([probes.Figures(multiprocessing)], each_sample=False)
        with self.assertRaises(ValueError):
            probes.BatchProxy(loaders.Raises(), probe).__getitems__([35, 36, 37, 38])
        self.assertEqual(probe.mine().head[probes.CURRENT], 37)

    def test_the_end_of_a_stream_is_no_sample_in_hand(self):
        probe = probes.Probe([probes.Figures(multiprocessing)], each_sample=True)
        self.assertEqual(len(list(probes.IterableProxy(loaders.Stream(5), probe))), 5)
        self.assertEqual(probe.mine().head[probes.IN_HAND], 0)

    def test_the_step_of_a_job_of_several_ranks(self):
        with mock.patch.dict(os.environ, {"WORLD_SIZE": "2"}):
            self.check(pipesim.ConfigurationError, "each of the job's 2 ranks", loaders.Numbers(), step=lambda batch: None)

    def test_fewer_samples_than_a_batch(self):
        loader = DataLoader(loaders.Numbers(5), batch_size=8, drop_last=True)
        with self.assertRaisesRegex(pipesim.RecordingFailed, "the loader has no batch"):
            record(loader)

    def test_a_data_set_that_hangs(self):
        self.check(pipesim.RecordingFailed, "index 37 takes longer than 0.5 s", loaders.Hangs(), limit_s=0.5)

    def test_samples_that_come_and_go_do_not_hang(self):
        class Flickers(list):
            """In hand at the first look and gone at the second, as trivial samples are."""

            def __getitem__(self, position):
                value, self[position] = super().__getitem__(position), 0.0
                return value

        recorder = Recorder(DataLoader(loaders.Numbers()), 1.0)
        recorder.figures["samples"][0].head = Flickers([0.0, 0.0, probes.now(), 3.0, 0.0])
        self.assertIsNone(hang_message(recorder, limit_s=60)())

    def test_a_data_set_that_dies(self):
        self.check(pipesim.RecordingFailed, "SIGSEGV at index 37", loaders.Dies())

    def test_a_data_set_that_returns_nothing(self):
        self.check(pipesim.RecordingFailed, r"returned None \(nothing\) at index 0$", loaders.ReturnsNothing())

    def test_which_of_a_batchs_samples_is_nothing(self):
        probe = probes.Probe([probes.Figures(multiprocessing)], each_sample=False)
        samples = probes.BatchProxy([1, None], probe).__getitems__([0, 1])
        with self.assertRaisesRegex(TypeError, "at index 1$"):
            probes.TimedCollate(default_collate, probe)(samples)

    def test_an_empty_data_set(self):
        self.check(pipesim.ConfigurationError, "empty", loaders.Numbers(0))

    def test_a_stream_without_samples(self):
        self.check(pipesim.RecordingFailed, "no batch", loaders.Stream(0))

    def test_what_is_no_data_set(self):
        self.check(pipesim.ConfigurationError, "neither a DataLoader nor a Dataset", 7)

    def test_several_loaders_are_not_one(self):
        pair = DataLoader(loaders.Numbers()), DataLoader(loaders.Numbers())
        for several in (pair, list(pair), lambda: pair):
            with self.assertRaisesRegex(pipesim.ConfigurationError, r"(tuple|list) of 2 DataLoaders"):
                record(several)
        with self.assertRaisesRegex(pipesim.ConfigurationError, "dict of 2 DataLoaders"):
            record(dict(zip(("train", "val"), pair)))

    def test_a_data_set_that_cannot_be_spawned(self):
        self.check(pipesim.ConfigurationError, "can be pickled", loaders.HoldsALambda(), start_method="spawn")


class CommandLine(unittest.TestCase):
    def run_record(self, *words):
        environment = {**os.environ, "PYTHONPATH": f"{PACKAGE}:{HERE}", "PYTHONWARNINGS": "ignore"}
        return subprocess.run(
            [sys.executable, "-m", "pipesim", "record", *words], capture_output=True, text=True, cwd=FOLDER.name,
            env=environment)

    def test_exit_codes_and_messages(self):
        cases = [
            (2, "module:factory", ["json"]),
            (2, "--budget", ["json:dumps", "--budget", "0"]),
            (2, "unknown flag --batch-size for `pipesim record`; did you mean --batch?", ["json:dumps", "--batch-size=8"]),
            (2, "did you mean --step?", ["json:dumps", "--stp", "json:dumps"]),
            (3, "no module nowhere", ["nowhere:f"]),
            (3, "has no 'load_all'", ["json:load_all"]),
            (3, "returned None instead of a Dataset or DataLoader", ["builtins:print"]),
            (3, "a tuple of 2 DataLoaders instead of one; name a factory that returns one", ["loaders:make_two"]),
            (3, "returned None instead of a function of a batch", ["loaders:make_loader", "--step", "builtins:print"]),
            (3, "cannot write nowhere/r.yaml: No such file", ["loaders:Raises", "--batch", "8", "--out", "nowhere/r.yaml"]),
            (3, "TypeError", ["json:dumps"]),
            (3, "ended the program (exit None) instead of returning", ["sys:exit"]),
        ]
        for code, message, words in cases:
            result = self.run_record(*words)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(message, result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_a_factory_is_recorded_with_its_step(self):
        result = self.run_record("loaders:make_loader", "--step", "loaders:make_step", "--budget", "0.2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Recorded recorded.yaml", result.stdout)
        text = (Path(FOLDER.name) / "recorded.yaml").read_text()
        self.assertIn('name: "loaders:make_loader"', text)
        self.assertIn("workers: 2", text)

    @unittest.skipIf(PROGRAM is None, "no program given")
    def test_the_program_reads_what_was_recorded(self):
        recording = record(loaders.Waits(), batch_size=8, step=loaders.make_step())
        result = subprocess.run([PROGRAM, "validate", recording.file], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotIn("warning", result.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        FOLDER = type("Folder", (), {"name": name})
        unittest.main(exit=True)
