# Sourced by setup, run, test and make_dataset: paths, messages and building. Messages go to stderr;
# stdout belongs to the program that is run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv

say() { printf 'pipesim: %s\n' "$*" >&2; }

# Exits with 3, pipesim's exit code for a missing input.
fail() {
  printf 'pipesim: %s\n' "$@" >&2
  exit 3
}

# first_match PATTERN…: the first existing file among the patterns' matches, or nothing.
first_match() {
  local path
  for path in "$@"; do
    if [ -e "$path" ]; then
      printf '%s\n' "$path"
      return
    fi
  done
}

# PyPI's cmake installs a slow Python wrapper in bin/, which breaks when the clone is moved. These are
# the programs themselves.
cmake_program() { first_match "$venv"/lib/python3*/site-packages/cmake/data/bin/cmake; }
ctest_program() { first_match "$venv"/lib/python3*/site-packages/cmake/data/bin/ctest; }
ninja_program() { first_match "$venv"/bin/ninja; }

# Parallel compilers: one per core, and at most one per 1.5 GB of memory, which a translation unit with
# LibTorch needs.
build_jobs() {
  local cores by_memory
  cores=$(nproc)
  by_memory=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo)
  if [ "$by_memory" -lt 1 ]; then by_memory=1; fi
  if [ "$by_memory" -lt "$cores" ]; then echo "$by_memory"; else echo "$cores"; fi
}

# configure PRESET NAME=VALUE…: runs cmake unless build/PRESET already has these values.
configure() {
  local preset=$1 build=$root/build/$1 setting changed=no
  shift
  local cmake
  cmake=$(cmake_program)
  for setting in "$@"; do
    if ! grep -qs "^${setting%%=*}:[A-Z]*=${setting#*=}\$" "$build/CMakeCache.txt"; then changed=yes; fi
  done
  if [ "$changed" = no ] && [ -e "$build/build.ninja" ]; then return; fi
  mkdir -p "$build"
  # Only in a new folder: changing the compiler launcher later would recompile everything.
  if command -v ccache >/dev/null && [ ! -e "$build/CMakeCache.txt" ]; then
    set -- "$@" CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  say "configuring build/$preset"
  if ! (cd "$root" && "$cmake" --preset "$preset" "-DCMAKE_MAKE_PROGRAM=$(ninja_program)" \
    "${@/#/-D}") >"$build/configure.log" 2>&1; then
    cat "$build/configure.log" >&2
    fail "configuring failed, see above (kept in build/$preset/configure.log)."
  fi
}

# Shows ninja's progress: a counter on a terminal, else one line if there is anything to build.
show_progress() {
  local what=$1 line said=no
  while IFS= read -r line; do
    if ! [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (Building|Linking) ]]; then continue; fi
    if [ -t 2 ]; then
      printf '\rpipesim: building %s %s of %s ' "$what" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    elif [ "$said" = no ]; then
      say "building $what: ${BASH_REMATCH[2]} steps"
    fi
    said=yes
  done
  if [ "$said" = yes ] && [ -t 2 ]; then printf '\n' >&2; fi
}

# build PRESET TARGET…: compiles quietly; all output is kept in build/PRESET/build.log.
build() {
  local preset=$1 build=$root/build/$1
  shift
  if ! "${build_wrapper[@]}" "$(ninja_program)" -C "$build" -j "$(build_jobs)" "$@" 2>&1 |
    tee "$build/build.log" | show_progress "build/$preset"; then
    # Starts at the first failure; the steps before it succeeded.
    sed -n '/FAILED\|^ninja: error\|^CMake Error/,$p' "$build/build.log" >&2
    fail "building failed, see above (all of it in build/$preset/build.log)."
  fi
}
build_wrapper=(env)
