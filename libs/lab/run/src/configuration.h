// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device's dump without what differs from run to run by itself, so that two runs of one
// configuration have equal texts and can be compared: names of the run, addresses and ids made up
// at random, timers, link flags. Pure function.
#include <string>

namespace merlon::lab {

// `instance`: what the run named its namespaces and folders with.
std::string lasting_configuration(const std::string& dump, const std::string& instance);

}  // namespace merlon::lab
