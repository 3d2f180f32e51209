// SPDX-License-Identifier: Apache-2.0
// merlon-docgen DIR: writes the reference pages that are made from the program's tables.
#include <cstdio>
#include <fstream>
#include <string>

#include "merlon/telemetry/reference.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: merlon-docgen DIR (usually docs/reference)\n", stderr);
    return 2;
  }
  using namespace merlon::telemetry;
  const std::string folder = argv[1];
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file << text;
    file.close();
    if (!file.fail()) return true;
    std::fprintf(stderr, "merlon-docgen: can't write %s/%s\n", folder.c_str(), name);
    return false;
  };
  const bool is_done =
      write("eve.schema.json", eve_schema()) && write("events.md", events_reference()) &&
      write("metrics.md", metrics_reference()) && write("drops.md", drops_reference());
  return is_done ? 0 : 1;
}
