# SPDX-License-Identifier: Apache-2.0
# merlon_fuzz(NAME SOURCE USES ...): a libFuzzer target in the `fuzz` preset. In every other preset
# the same source becomes <name>_replay, which runs each file it is given once: the corpus is a test.
function(merlon_fuzz name)
  cmake_parse_arguments(A "" "" "SOURCES;USES" ${ARGN})
  if(MERLON_FUZZ)
    add_executable(${name} ${A_SOURCES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${A_USES})
  elseif(MERLON_BUILD_TESTS)
    add_executable(${name}_replay ${A_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    target_link_libraries(${name}_replay PRIVATE ${A_USES})
    add_test(NAME ${name}_corpus
      COMMAND ${name}_replay ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
    set_tests_properties(${name}_corpus PROPERTIES LABELS fuzz-corpus)
  endif()
endfunction()
