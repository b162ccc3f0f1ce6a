#!/usr/bin/env bash
# install_test.sh CMAKE BUILD_FOLDER: what `cmake --install` leaves behind works where it was put, and
# after that folder was moved: it finds its own models and presets, and points to nothing it was built
# from.
set -euo pipefail
cmake=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$folder/first" >"$folder/log" || { cat "$folder/log"; exit 1; }
mv "$folder/first" "$folder/moved"
program=$folder/moved/bin/pipesim

# The source tree, where the program looks too, has no such model: only the installed one has.
cp "$folder/moved/share/pipesim/models/mlp.yaml" "$folder/moved/share/pipesim/models/only-here.yaml"
cd "$folder"
"$program" --model only-here --device emulated --dry-run >out || fail "installed models are not found"
grep -q only-here out || fail "the model's name is missing in: $(cat out)"
"$program" --version | grep -q '^pipesim ' || fail "--version: $("$program" --version)"
"$program" --model mlp --device emulated --steps 20 --no-save >out 2>err || fail "a run fails: $(cat err)"

source_folder=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
while IFS= read -r file; do
  runpath=$(readelf -d "$file" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p')
  case :$runpath in
    *:"$source_folder"/* | *:"$build"/*) fail "$file looks for libraries in $runpath" ;;
  esac
done < <(find "$folder/moved/bin" "$folder/moved/lib" -type f 2>/dev/null)

if grep -q '^PIPESIM_WITH_TORCH:BOOL=ON' "$build/CMakeCache.txt"; then
  [ -e "$folder/moved/lib/pipesim/libpipesim_torch.so" ] || fail "the LibTorch plugin is not installed"
fi
