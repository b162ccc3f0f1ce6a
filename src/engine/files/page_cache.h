// The page cache before a run over real files: evicts the files, reads them in, and measures how
// much of them is cached. Changes no file.
#pragma once

#include <filesystem>

#include "engine/files/file_list.h"
#include "engine/sample_source.h"

namespace pipesim::engine {

/// The share of the files' bytes in the page cache (mincore(2)), estimated from at most 4,096 files
/// spread evenly. nullopt where the kernel does not tell: it answers only processes that may write
/// the file.
std::optional<double> CachedFraction(const FileList& files);

}  // namespace pipesim::engine
