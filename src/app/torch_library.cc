#include "app/torch_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "app/installation.h"
#include "base/error.h"

namespace pipesim::app {
namespace {

constexpr const char* kWithout = "`--device emulated` runs without LibTorch";

/// An installed plugin has no RPATH to LibTorch. TORCH_DIR names the LibTorch to use; once its
/// libraries are open, the dynamic linker resolves the plugin's dependencies to them by name.
void PreloadFrom(const std::filesystem::path& torch_dir) {
  for (const char* name : {"libc10.so", "libtorch_cpu.so", "libtorch.so"}) {
    const std::filesystem::path library = torch_dir / "lib" / name;
    if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
      throw base::EnvironmentError(fmt::format("TORCH_DIR={}: {}", torch_dir.string(), dlerror()));
  }
}

}  // namespace

const engine::TorchPlugin& LoadTorch() {
  const auto path = FindTorchPlugin();
  if (!path)
    throw base::EnvironmentError(fmt::format(
        "this pipesim was built without LibTorch, which training on a CPU or GPU needs\n"
        "build it with tools/setup and the CMake preset `release`; {}",
        kWithout));
  // Its own log would go to stderr, between our lines; what it warns of in a call, the plugin keeps.
  // Errors stay, and so does a level that the user has set.
  setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
  if (const char* torch_dir = std::getenv("TORCH_DIR"); torch_dir != nullptr && *torch_dir != '\0')
    PreloadFrom(torch_dir);
  void* library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw base::EnvironmentError(
        fmt::format("cannot open {}: {}\nset TORCH_DIR to the folder of LibTorch 2.11 (the one "
                    "that holds lib/libtorch.so); {}",
                    path->string(), dlerror(), kWithout));
  using Entry = const engine::TorchPlugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, engine::kTorchPluginSymbol));
  const engine::TorchPlugin* plugin = entry != nullptr ? entry() : nullptr;
  if (plugin == nullptr || plugin->version != engine::kTorchPluginVersion)
    throw base::EnvironmentError(
        fmt::format("{} belongs to another version of pipesim; build or install both together",
                    path->string()));
  return *plugin;
}

}  // namespace pipesim::app
