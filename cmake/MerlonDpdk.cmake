# SPDX-License-Identifier: Apache-2.0
# merlon::dpdk: DPDK by pkg-config as SYSTEM headers. Its -march is dropped: MERLON_MARCH decides for the whole
# program, and two answers would give two layouts of inlined code. Linked shared; drivers are plug-ins that the
# EAL loads from DPDK's own folder, so every driver of the distribution works.
find_package(PkgConfig REQUIRED)
pkg_check_modules(MERLON_DPDK libdpdk>=22.11)
if(NOT MERLON_DPDK_FOUND)
  message(FATAL_ERROR "libdpdk >= 22.11 is missing: install libdpdk-dev, or configure with -DMERLON_WITH_DPDK=OFF")
endif()
add_library(merlon_dpdk INTERFACE)
add_library(merlon::dpdk ALIAS merlon_dpdk)
target_include_directories(merlon_dpdk SYSTEM INTERFACE ${MERLON_DPDK_INCLUDE_DIRS})
target_compile_options(merlon_dpdk INTERFACE "SHELL:-include rte_config.h")
target_link_directories(merlon_dpdk INTERFACE ${MERLON_DPDK_LIBRARY_DIRS})
target_link_libraries(merlon_dpdk INTERFACE rte_eal rte_ethdev rte_mbuf rte_mempool rte_ring)
