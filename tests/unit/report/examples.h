// Hand-made runs: the examples in docs and golden files, and failed runs. Their figures are
// consistent but not measured.
#pragma once

#include "report/report.h"

namespace pipesim::tests {

/// A starved GPU behind a SATA SSD: 183 steps of 54.7 ms, 38.3 of them without a batch.
report::RunReport IoBound();
/// The bare command on a machine without a GPU: 3,333 steps of 3.00 ms, the CPU trains.
report::RunReport ComputeBound();
/// Nine steps of 213 ms: the input side, but not which part of it.
report::RunReport Inconclusive();
/// ComputeBound, stopped after 10 s by running out of memory.
report::RunReport OutOfMemory();
/// A folder without one good file: no step at all.
report::RunReport NothingMeasured();
/// One trainer that loads for itself, on an emulated device.
report::RunReport NoWorkers();

}  // namespace pipesim::tests
