# LibTorch as a plain imported target, LibTorch::LibTorch, from PyPI's wheel or an unpacked LibTorch.
#
# Not find_package(Torch): on PyPI's CUDA wheel that one needs an installed CUDA toolkit, and pipesim
# compiles no CUDA code; headers and the wheel's own libraries are all it takes.
#
# Reads     TORCH_DIR             the folder with include/ and lib/ (cache or environment); else the
#                                 .venv of the source tree, else python3's torch; for pip the torch of
#                                 the environment it installs into. Nothing is imported.
#           PIPESIM_TORCH_CUDA    use LibTorch's CUDA part; default: whether it has one
#           CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit   take CUDA's headers from the wheels even where a
#                                 toolkit is installed
# Sets      LibTorch_FOUND, LibTorch_VERSION, LibTorch_ROOT, LibTorch_RUNTIME_DIRS (folders that hold
#           the libraries the target links), PIPESIM_TORCH_CUDA, LibTorch_NVTX (the target's headers hold
#           nvtx3/nvToolsExt.h: a toolkit has it, else the wheel nvidia-nvtx)

if(NOT TORCH_DIR AND DEFINED ENV{TORCH_DIR})
  set(TORCH_DIR "$ENV{TORCH_DIR}" CACHE PATH "LibTorch to use: the folder with include/ and lib/")
endif()

# The places to look at, best first. A TORCH_DIR that holds no LibTorch is an error, not a hint.
function(_libtorch_candidates result)
  if(TORCH_DIR)
    set(${result} "${TORCH_DIR}" PARENT_SCOPE)
    return()
  endif()
  if(SKBUILD)
    # The environment that pip installs into: its own torch is the one to be loaded. pip's build
    # environment hides it from Python, so look at the files.
    cmake_path(GET Python_EXECUTABLE PARENT_PATH scripts)
    file(GLOB candidates "${scripts}/../lib/python3*/site-packages/torch")
    set(${result} "${candidates}" PARENT_SCOPE)
    return()
  endif()
  file(GLOB candidates "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
  find_program(LibTorch_PYTHON python3)
  mark_as_advanced(LibTorch_PYTHON)
  if(LibTorch_PYTHON)
    # find_spec of a top-level package looks at files only: importing torch takes seconds.
    execute_process(
      COMMAND ${LibTorch_PYTHON} -c "import importlib.util as u
s = u.find_spec('torch')
print(s.submodule_search_locations[0] if s else '')"
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND candidates "${found}")
  endif()
  set(${result} "${candidates}" PARENT_SCOPE)
endfunction()

set(LibTorch_ROOT "")
_libtorch_candidates(_candidates)
foreach(_candidate IN LISTS _candidates)
  if(EXISTS "${_candidate}/lib/libtorch_cpu.so" AND EXISTS "${_candidate}/include/ATen/ATen.h")
    file(REAL_PATH "${_candidate}" LibTorch_ROOT)
    break()
  endif()
endforeach()

set(LibTorch_VERSION "")
set(LibTorch_REASON_FAILURE_MESSAGE
  "Set TORCH_DIR to a LibTorch (the folder with include/ and lib/), put torch into .venv with tools/setup, or build without it: -DPIPESIM_WITH_TORCH=OFF")
if(LibTorch_ROOT)
  foreach(_header include/torch/headeronly/version.h
                  include/torch/csrc/api/include/torch/version.h)
    if(EXISTS "${LibTorch_ROOT}/${_header}")
      file(STRINGS "${LibTorch_ROOT}/${_header}" _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      string(REGEX REPLACE "[^;0-9]" "" _numbers "${_lines}")
      string(REPLACE ";" "." LibTorch_VERSION "${_numbers}")
      if(LibTorch_VERSION)
        break()
      endif()
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_ROOT VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "${LibTorch_REASON_FAILURE_MESSAGE}")

set(LibTorch_RUNTIME_DIRS "${LibTorch_ROOT}/lib")
if(EXISTS "${LibTorch_ROOT}/lib/libtorch_cuda.so")
  option(PIPESIM_TORCH_CUDA "Use LibTorch's CUDA part" ON)
else()
  set(PIPESIM_TORCH_CUDA OFF)
endif()

# The CUDA runtime that LibTorch was built with: libtorch_cuda.so wants its major version.
# Sets _cuda_include and _cuda_runtime, or stops and says what to do.
macro(_libtorch_find_cuda)
  file(STRINGS "${LibTorch_ROOT}/lib/libc10_cuda.so" _wanted REGEX "^libcudart[-0-9a-f]*\\.so\\.[0-9]+")
  string(REGEX MATCH "\\.so\\.([0-9]+)" _ "${_wanted}")
  set(_cuda_major "${CMAKE_MATCH_1}")
  set(_include_candidates "")
  set(_runtime_candidates "")
  file(GLOB _runtime_candidates
    "${LibTorch_ROOT}/lib/libcudart*.so.${_cuda_major}*"
    "${LibTorch_ROOT}/../nvidia/*/lib/libcudart.so.${_cuda_major}")
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_VERSION_MAJOR STREQUAL _cuda_major)
    list(APPEND _include_candidates ${CUDAToolkit_INCLUDE_DIRS})
    list(APPEND _runtime_candidates "${CUDAToolkit_LIBRARY_DIR}/libcudart.so.${_cuda_major}")
  endif()
  file(GLOB _wheel_includes "${LibTorch_ROOT}/../nvidia/*/include")
  list(APPEND _include_candidates ${_wheel_includes})
  set(_cuda_include "")
  foreach(_candidate IN LISTS _include_candidates)
    if(EXISTS "${_candidate}/cuda_runtime_api.h" AND EXISTS "${_candidate}/crt/host_defines.h")
      set(_cuda_include "${_candidate}")
      break()
    endif()
  endforeach()
  set(_nvtx_include "")
  foreach(_candidate IN LISTS _cuda_include _include_candidates)
    if(EXISTS "${_candidate}/nvtx3/nvToolsExt.h")
      set(_nvtx_include "${_candidate}")
      break()
    endif()
  endforeach()
  set(_cuda_runtime "")
  foreach(_candidate IN LISTS _runtime_candidates)
    if(EXISTS "${_candidate}")
      file(REAL_PATH "${_candidate}" _cuda_runtime)
      break()
    endif()
  endforeach()
  if(SKBUILD AND (NOT _cuda_include OR NOT _cuda_runtime))
    # An environment with torch alone lacks a header: better a plugin for the CPU than no installation.
    set(PIPESIM_TORCH_CUDA OFF)
    message(STATUS "No CUDA ${_cuda_major} headers (crt/host_defines.h: nvidia-cuda-crt)")
  elseif(NOT _cuda_include OR NOT _cuda_runtime)
    message(FATAL_ERROR
      "LibTorch ${LibTorch_VERSION} in ${LibTorch_ROOT} uses CUDA ${_cuda_major}, and there is no "
      "CUDA ${_cuda_major} toolkit and no complete set of its wheels (cuda_runtime_api.h: "
      "nvidia-cuda-runtime, crt/host_defines.h: nvidia-cuda-crt==13.0.88 for CUDA 13).\n"
      "Install one of them, or build for the CPU alone: -DPIPESIM_TORCH_CUDA=OFF")
  endif()
endmacro()

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  set(_names c10 torch_cpu)  # libtorch.so itself is empty
  set(_include "${LibTorch_ROOT}/include" "${LibTorch_ROOT}/include/torch/csrc/api/include")
  set(_libraries "")
  if(PIPESIM_TORCH_CUDA)
    _libtorch_find_cuda()
  endif()
  if(PIPESIM_TORCH_CUDA)
    list(APPEND _names c10_cuda torch_cuda)
    list(APPEND _include "${_cuda_include}")
    if(_nvtx_include AND NOT _nvtx_include STREQUAL _cuda_include)
      list(APPEND _include "${_nvtx_include}")
    endif()
    list(APPEND _libraries "${_cuda_runtime}")
    get_filename_component(_folder "${_cuda_runtime}" DIRECTORY)
    list(APPEND LibTorch_RUNTIME_DIRS "${_folder}")
  endif()
  foreach(_name IN LISTS _names)
    list(APPEND _libraries "${LibTorch_ROOT}/lib/lib${_name}.so")
  endforeach()
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_include}"
    INTERFACE_LINK_LIBRARIES "${_libraries}"
    # torch_cuda registers itself when loaded; nothing of it is called by name.
    INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed")
  if(PIPESIM_TORCH_CUDA)
    message(STATUS "LibTorch's CUDA ${_cuda_major}: headers ${_cuda_include}, runtime ${_cuda_runtime}")
  else()
    message(STATUS "LibTorch without CUDA: training on the CPU alone")
  endif()
endif()

set(LibTorch_NVTX FALSE)
if(LibTorch_FOUND)
  get_target_property(_include LibTorch::LibTorch INTERFACE_INCLUDE_DIRECTORIES)
  foreach(_folder IN LISTS _include)
    if(EXISTS "${_folder}/nvtx3/nvToolsExt.h")
      set(LibTorch_NVTX TRUE)
    endif()
  endforeach()
endif()
