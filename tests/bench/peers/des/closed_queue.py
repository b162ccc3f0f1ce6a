"""The sweep of closed queues in SimPy: closed_queue.py BATCHES constant|exponential WORKERS,... PREFETCH,...

prints workers, prefetch and batches a second of virtual time for each point. Workers make a batch in
16 ms, `prefetch` batches are dealt to each and not yet taken, a consumer takes them in order for 1 ms
each. Two timeouts a batch, as in the other simulators; no trace is kept.
"""

import random
import sys

import simpy

MAKE_MS, STEP_MS = 16.0, 1.0


def worker(env, make_ms, indices, made):
    while True:
        yield indices.get()
        yield env.timeout(make_ms())
        made.put(None)


def consumer(env, batches, indices, made, marks):
    for index in range(batches):
        at = index % len(made)
        yield made[at].get()
        indices[at].put(None)
        yield env.timeout(STEP_MS)
        if index + 1 in marks:
            marks[index + 1] = env.now


def batches_per_s(batches, make_ms, workers, prefetch):
    env = simpy.Environment()
    indices = [simpy.Store(env) for _ in range(workers)]
    made = [simpy.Store(env) for _ in range(workers)]
    for each in range(workers):
        for _ in range(prefetch):
            indices[each].put(None)
        env.process(worker(env, make_ms, indices[each], made[each]))
    begin = batches // 10
    marks = {begin: 0, batches: 0}
    env.run(env.process(consumer(env, batches, indices, made, marks)))
    return (batches - begin) / (marks[batches] - marks[begin]) * 1e3


def main():
    batches = int(sys.argv[1])
    draw = random.Random(1).expovariate
    make_ms = (lambda: MAKE_MS) if sys.argv[2] == "constant" else (lambda: draw(1 / MAKE_MS))
    for workers in map(int, sys.argv[3].split(",")):
        for prefetch in map(int, sys.argv[4].split(",")):
            print(workers, prefetch, batches_per_s(batches, make_ms, workers, prefetch))


if __name__ == "__main__":
    main()
