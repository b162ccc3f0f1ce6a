// Whether the pipesim under test has sanitizers (tests/CMakeLists.txt; a test that starts it as a program has none
// itself). Some tests of costs skip checks there, because sanitizers take time and memory.
#pragma once

namespace pipesim::support {

#if defined(PIPESIM_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace pipesim::support
