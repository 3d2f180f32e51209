// SPDX-License-Identifier: Apache-2.0
#pragma once
// Policies of the benchmarks. control-only.
#include <cstddef>

#include "merlon/policy/model.h"

namespace merlon::perf {

// `count` rules that none of the permitted traffic meets, then one that refuses udp/7 and one that
// allows the rest. A quarter each: a source host, a destination network with a port, the clients'
// own network to a foreign host, any to any on a port that is not used. The foreign addresses are
// 198.18.0.0/15 (RFC 2544).
policy::PolicyModel blocks_then_allow(std::size_t count);

}  // namespace merlon::perf
