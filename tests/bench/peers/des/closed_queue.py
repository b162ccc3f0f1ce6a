"""The closed queue in SimPy: closed_queue.py BATCHES prints batches simulated a second.

64 workers of 64 ms each, two batches dealt to each and not yet taken, a consumer that takes them in
order for 1 ms each. Two timeouts a batch, as in pipesim and ns-3; no trace is kept.
"""

import sys
import time

import simpy

WORKERS, PREFETCH, MAKE_MS, STEP_MS = 64, 2, 64.0, 1.0


def worker(env, indices, ready):
    while True:
        index = yield indices.get()
        yield env.timeout(MAKE_MS)
        ready[index % (WORKERS * PREFETCH)].succeed()


def consumer(env, batches, mailboxes, ready):
    window = WORKERS * PREFETCH
    for index in range(window):
        mailboxes[index % WORKERS].put(index)
    for index in range(batches):
        yield ready[index % window]
        ready[index % window] = env.event()
        mailboxes[(index + window) % WORKERS].put(index + window)
        yield env.timeout(STEP_MS)


def main():
    batches = int(sys.argv[1])
    env = simpy.Environment()
    mailboxes = [simpy.Store(env) for _ in range(WORKERS)]
    ready = [env.event() for _ in range(WORKERS * PREFETCH)]
    for mailbox in mailboxes:
        env.process(worker(env, mailbox, ready))
    begin = time.process_time()
    env.run(env.process(consumer(env, batches, mailboxes, ready)))
    print(batches / (time.process_time() - begin))


if __name__ == "__main__":
    main()
