// The kernel's page cache before a run over real files: emptied of them, filled with them, and how
// much of them it holds. Reads the files or nothing of them; changes none.
#pragma once

#include <filesystem>

#include "engine/files/file_list.h"
#include "engine/sample_source.h"

namespace pipesim::engine {

/// The share of the files' bytes that the page cache holds (mincore(2)), of at most 4,096 files
/// spread evenly. nullopt where the kernel does not say: it tells only who may write a file.
std::optional<double> CachedFraction(const FileList& files);

}  // namespace pipesim::engine
