"""Which part of a measured loop counts."""

WARM_UP_S = 0.4
LONGEST_WARM_UP_S = 5.0


class Window:
    """The part of a loop that counts: from the end of one batch to the end of another, after a warm-up.

    Inside one epoch it holds whole cycles of the workers. Where an epoch ends inside it, it is moved to hold whole
    epochs, from the last batch of one to the last batch of another, so that the start of each epoch counts.
    """

    def __init__(self, seconds, cycle, warm_up_batches):
        self.seconds, self.cycle, self.warm_up_batches = seconds, cycle, warm_up_batches
        self.first = self.begin = None
        self.last = (0.0, 0, 0)  # instant, samples, batches so far
        self.whole_epochs = 0

    def batch_done(self, now, samples):
        """True: the window is complete."""
        self.last = (now, self.last[1] + samples, self.last[2] + 1)
        if self.first is None:
            self.first = now
        if self.begin is None:
            warm = now - self.first >= WARM_UP_S and self.last[2] >= self.warm_up_batches
            if warm or now - self.first >= LONGEST_WARM_UP_S:
                self.begin = self.last
            return False
        return not self.whole_epochs and self.elapsed() >= self.seconds and self.batches() % self.cycle == 0

    def epoch_done(self):
        if self.begin is None:
            return False
        if not self.whole_epochs:
            self.begin, self.whole_epochs = self.last, 1
            return False
        self.whole_epochs += 1
        return self.elapsed() >= self.seconds

    def elapsed(self):
        return self.last[0] - self.begin[0]

    def batches(self):
        return self.last[2] - self.begin[2]

    def rate(self):
        return (self.last[1] - self.begin[1]) / self.elapsed()
