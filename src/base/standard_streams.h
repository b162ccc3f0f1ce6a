// The process's standard streams: kept open, and written to without exceptions.
#pragma once

#include <string_view>

namespace pipesim::base {

/// Opens those of the descriptors 0, 1 and 2 that are closed, so that no file opened later gets
/// their number and receives what is meant for a stream. Reading from them and writing to them
/// fails, as with closed ones. Call first in main.
void KeepStandardStreamsOpen();

/// Writes to stderr. Errors are ignored: a full or closed log must not end the program.
void PrintError(std::string_view text);

}  // namespace pipesim::base
