// SPDX-License-Identifier: Apache-2.0
// merlon-lab-docgen DIR: writes the JSON Schema of the laboratory's results.
#include <cstdio>
#include <fstream>
#include <string>

#include "merlon/lab_model/json.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: merlon-lab-docgen DIR (usually docs/reference)\n", stderr);
    return 2;
  }
  const std::string path = std::string(argv[1]) + "/lab-result.schema.json";
  std::ofstream file(path, std::ios::binary);
  file << merlon::lab::result_schema();
  file.close();
  if (!file.fail()) return 0;
  std::fprintf(stderr, "merlon-lab-docgen: can't write %s\n", path.c_str());
  return 1;
}
