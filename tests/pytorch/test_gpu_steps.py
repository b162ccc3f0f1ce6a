#!/usr/bin/env python3
"""How the recorder times a step on a GPU: what it makes of the times, and on a GPU the times themselves. Exit code
77: no PyTorch here."""

import sys
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

try:
    import torch
except ImportError as error:
    sys.exit(print(f"{sys.executable} has no PyTorch: {error}", file=sys.stderr) or 77)

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE)]
if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
    sys.argv.pop(1)  # the program, which other tests of this folder need

from pipesim.description import longer_step, step_sections  # noqa: E402
from pipesim.gpu_steps import GpuSteps  # noqa: E402
from pipesim.step import StepTimes, beside, time_step  # noqa: E402
from pipesim.walks import Loop, Take  # noqa: E402


def gpu_steps(calls, wholes, behind, waited=0):
    """Half of each call takes CPU time."""
    steps = GpuSteps()
    steps.calls, steps.wholes, steps.behind, steps.waited = calls, wholes, behind, waited
    steps.cpus = [seconds / 2 for seconds in calls]
    return steps


def step_times(points, steps, copy_s=0.0):
    times = StepTimes("cuda:0", 1, points, None, None)
    times.tell_apart(steps, copy_s)
    return times


def text_of(times):
    return "".join(section.text() for section in step_sections(times))


class WhatItMakesOfTheTimes(unittest.TestCase):
    def test_a_gpu_that_computes_for_longer_than_it_is_launched(self):
        times = step_times([(8, 0.006), (16, 0.010)], gpu_steps([0.002] * 4, [0.010] * 4, [0.009] * 4), copy_s=0.001)
        self.assertEqual(times.points, [(8, 0.006), (16, 0.010)])
        self.assertIn("{base: 2ms, per_sample: 500us, launch: 2ms, launch_cpu: 1ms, with_copies: true}", text_of(times))
        self.assertNotIn("sync_every", text_of(times))

    def test_launches_that_take_longer_than_what_they_launch(self):
        times = step_times([(8, 0.0011), (16, 0.0011)], gpu_steps([0.001] * 4, [0.0011] * 4, [0.0002] * 4),
                           copy_s=0.0001)
        self.assertEqual(times.points, [(16, 0.0002 + 0.0001)])
        self.assertIn("{base: 300us, per_sample: 0, launch: 1ms, launch_cpu: 500us, with_copies: true}", text_of(times))

    def test_a_step_on_a_stream_of_its_own(self):
        times = step_times([(16, 0.010)], gpu_steps([0.002] * 4, [0.010] * 4, [0.0001] * 4))
        self.assertAlmostEqual(times.points[-1][1], 0.008)

    def test_a_step_that_reads_its_loss_back(self):
        launches = step_times([(16, 0.0011)], gpu_steps([0.0011] * 4, [0.0011] * 4, [0.0002] * 4, waited=4))
        self.assertIn("launch: 1.1ms", text_of(launches))
        self.assertIn("sync_every: 1", text_of(launches))
        computes = step_times([(16, 0.0301)], gpu_steps([0.030] * 4, [0.030] * 4, [0.029] * 4, waited=4))
        self.assertIn("launch: 0,", text_of(computes))
        self.assertIn("sync_every: 1", text_of(computes))

    def test_a_copy_at_the_begin_that_waits_is_no_result_that_is_read(self):
        times = step_times([(16, 0.010)], gpu_steps([0.004] * 4, [0.010] * 4, [0.010] * 4, waited=4))
        self.assertNotIn("sync_every", text_of(times))

    def test_only_calls_that_find_the_gpu_idle_say_what_a_worker_adds(self):
        times = step_times([(16, 0.010)], gpu_steps([0.002] * 4, [0.010] * 4, [0.010] * 4))
        # It is idle 8 ms after the call; every other batch comes at once, and its call waits.
        loop = Loop(takes=[Take(float(i), i + (0.001 if i % 2 else 0.009)) for i in range(20)],
                    steps=[0.009 if i % 2 else 0.003 for i in range(20)])
        times.beside_workers = beside(times, loop)
        self.assertAlmostEqual(times.beside_workers, 0.003)
        costs = SimpleNamespace(touch=0.5)
        self.assertAlmostEqual(longer_step(times, costs, pinned=False)[0], 0.001)
        self.assertEqual(longer_step(times, costs, pinned=True)[0], 0.5, "the pin thread touches it")
        busy = Loop(takes=[Take(float(i), i + 0.001) for i in range(20)], steps=[0.009] * 20)
        self.assertIsNone(beside(times, busy))


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class OnAGpu(unittest.TestCase):
    """Steps of known lengths: kernels that only wait."""

    def setUp(self):
        self.weights = torch.ones(1024, device="cuda")  # where the step computes shows by what it holds
        probe = GpuSteps()
        probe.measure_cycles()
        self.cycles_per_s = probe.cycles_per_s

    def gpu_works(self, seconds):
        torch.cuda._sleep(int(self.cycles_per_s * seconds))

    def timed(self, step):
        return time_step(step, [(torch.zeros(16, 4), torch.zeros(16))], 16)

    def test_a_step_of_20_ms(self):
        times = self.timed(lambda batch: self.gpu_works(0.020))
        self.assertAlmostEqual(times.points[-1][1], 0.020, delta=0.001)
        self.assertLess(times.launch, 0.002)
        self.assertFalse(times.waits)

    def test_the_same_that_waits(self):
        def step(batch):
            self.gpu_works(0.020)
            torch.cuda.synchronize()

        times = self.timed(step)
        self.assertAlmostEqual(times.points[-1][1], 0.020, delta=0.001)
        self.assertTrue(times.waits)

    def test_a_step_that_is_launched_for_10_ms_and_computes_for_2(self):
        def step(batch):
            begin = time.perf_counter()
            self.gpu_works(0.002)
            while time.perf_counter() - begin < 0.010:
                pass

        times = self.timed(step)
        self.assertAlmostEqual(times.points[-1][1], 0.002, delta=0.0005)
        self.assertAlmostEqual(times.launch, 0.010, delta=0.001)
        self.assertAlmostEqual(times.call_cpu, 0.010, delta=0.001)
        self.assertFalse(times.waits)

    def test_a_launch_that_sleeps_takes_no_cpu_time(self):
        def step(batch):
            self.gpu_works(0.002)
            time.sleep(0.010)

        times = self.timed(step)
        self.assertAlmostEqual(times.launch, 0.010, delta=0.002)
        self.assertLess(times.call_cpu, 0.002)

    def test_page_locked_memory_is_filled_by_one_thread(self):
        batch = (torch.zeros(64, 3, 224, 224), torch.zeros(64))
        times = time_step(lambda batch: self.gpu_works(0.002), [batch], 64, pinned=True)
        self.assertGreater(times.pin_bandwidth, 0.5e9)
        self.assertLess(times.pin_bandwidth, 100e9)
        self.assertIsNone(self.timed(lambda batch: self.gpu_works(0.002)).pin_bandwidth)

    def test_a_copy_that_waits_for_the_gpu(self):
        def step(batch):
            batch[0].to("cuda")
            self.gpu_works(0.010)

        times = self.timed(step)
        self.assertAlmostEqual(times.points[-1][1], 0.010, delta=0.001)
        self.assertLess(times.launch, 0.002)
        self.assertFalse(times.waits)


if __name__ == "__main__":
    unittest.main()
