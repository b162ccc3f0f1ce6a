// Whether this is a sanitizer build. Some tests of costs skip checks there, because sanitizers take
// time and memory.
#pragma once

namespace pipesim::support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace pipesim::support
