// Loops that measure what a run cannot separate: starting and waking threads, burning, memory.
// Each call is one measurement.
#pragma once

#include <optional>

#include "base/units.h"

namespace pipesim::calibrate {

/// From starting a thread to its first clock reading; median of 100.
double WorkerStartupSeconds();

/// From a semaphore's post to the return of the wait on it, the waiting thread half a millisecond
/// asleep; median of 200.
double WakeUpSeconds();

/// Time that burning on two threads takes beyond each thread's share: waking the second thread for
/// each burn, and waiting for it. Mean of 200 burns of 2 x 0.5 ms.
double BurnHandoverSeconds();

/// The time slice of the scheduler: how long a thread that lost its core waits for its next turn,
/// with two threads that never sleep on one processor. Median of the gaps of more than 0.2 ms;
/// nullopt without such a gap.
std::optional<double> TurnSeconds();

/// a[i] = b[i] + 3 c[i] over three arrays of `arrays` bytes in all for each thread, bytes read and
/// written a second of wall time, all threads together. Source: STREAM's triad, McCalpin 1995.
double TriadBytesPerSecond(int threads, base::Bytes arrays);

}  // namespace pipesim::calibrate
