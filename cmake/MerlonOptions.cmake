# SPDX-License-Identifier: Apache-2.0
# Build options shared by every target.
option(MERLON_BUILD_TESTS "build unit tests and the case runner" ON)
option(MERLON_BUILD_BENCH "build benchmarks" OFF)
option(MERLON_WITH_DPDK "build DPDK ports (needs libdpdk-dev)" ON)
set(MERLON_MARCH "x86-64-v3" CACHE STRING "instruction set for -march; 'native' for the machine at hand")
set(MERLON_SANITIZE "" CACHE STRING "'address,undefined', 'thread' or empty")
set(MERLON_FUZZ OFF CACHE BOOL "build libFuzzer targets (clang)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_program(MERLON_CCACHE ccache)
if(MERLON_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${MERLON_CCACHE}")
endif()
find_program(MERLON_MOLD mold)
if(MERLON_MOLD AND NOT MERLON_FUZZ)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-march=${MERLON_MARCH} -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(MERLON_SANITIZE)
  add_compile_options(-fsanitize=${MERLON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MERLON_SANITIZE})
endif()
if(MERLON_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# Warnings for our own code only; third-party headers come in as SYSTEM. -Wnull-dereference is left out: with
# optimisation g++ 12 reports it inside std::string and after checked Result accesses.
add_library(merlon_warnings INTERFACE)
target_compile_options(merlon_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Flow-based warnings of g++ 12 that are false on std::string moves and on instrumented code; clang and the
  # sanitisers watch for the real thing.
  target_compile_options(merlon_warnings INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread -Wno-array-bounds)
endif()
