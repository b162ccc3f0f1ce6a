// Loops that show what no run can tell apart: threads starting and waking, burning, memory alone.
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

/// What burning on two threads takes beyond each one's share: the second is called for each burn,
/// and waited for. Mean of 200 burns of 2 x 0.5 ms.
double BurnHandoverSeconds();

/// For how long a thread that lost its core to an equal one waits for its next turn: two that never
/// sleep on one processor; median of the gaps of more than 0.2 ms. nullopt without one.
std::optional<double> TurnSeconds();

/// a[i] = b[i] + 3 c[i] over three arrays of `arrays` bytes in all for each thread, bytes read and
/// written a second of wall time, all threads together. Source: STREAM's triad, McCalpin 1995.
double TriadBytesPerSecond(int threads, base::Bytes arrays);

}  // namespace pipesim::calibrate
