// SPDX-License-Identifier: Apache-2.0
// Writes docs/reference/configuration.md and configuration.schema.json into the folder given.
#include <fstream>
#include <iostream>
#include <string>

#include "merlon/control/schema.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: merlon-docgen-config FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  std::ofstream page(folder + "/configuration.md"), schema(folder + "/configuration.schema.json");
  page << merlon::control::configuration_reference();
  schema << merlon::control::json_schema();
  page.flush();
  schema.flush();
  if (!page || !schema) {
    std::cerr << "can't write into " << folder << "\n";
    return 1;
  }
  return 0;
}
