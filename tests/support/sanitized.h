// Whether this build carries a sanitizer, which takes time and memory of its own: a few tests of
// what things cost leave some of it out then.
#pragma once

namespace pipesim::support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace pipesim::support
