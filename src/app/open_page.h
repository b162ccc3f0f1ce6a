// Shows a page in the user's browser, for --open.
#pragma once

#include <filesystem>
#include <string>

namespace pipesim::app {

/// Starts $BROWSER (programs separated by colons, "%s" for the page), else xdg-open, and does not
/// wait for the browser to be closed. Returns why that is not possible here; empty: it was started.
std::string ShowPage(const std::filesystem::path& page);

}  // namespace pipesim::app
