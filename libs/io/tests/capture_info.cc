// SPDX-License-Identifier: Apache-2.0
// Reads each capture it is given to its end and prints one line per file:
//   OK|FAULT|REFUSED <file> packets=N bytes=N first=NANOS last=NANOS types=1,101 [message]
// With --packets it prints "number time captured length link_type" per packet instead. Exit code 1
// when a file was not clean; a crash is what the sweep over shared/data looks for.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "merlon/io/pcap_file.h"

namespace {

bool show(const char* path, bool packets) {
  using namespace merlon::io;
  auto reader = CaptureReader::open(path);
  if (!reader.ok()) {
    fmt::print("REFUSED {} {}\n", path, reader.error().message);
    return false;
  }
  CapturePacket p;
  merlon::base::Nanos first = 0, last = 0;
  std::set<std::uint32_t> types;
  while ((*reader)->next(p)) {
    if (p.number == 1) first = p.time;
    last = p.time;
    types.insert(static_cast<std::uint32_t>(p.link_type));
    if (packets)
      fmt::print("{} {} {} {} {}\n", p.number, p.time, p.bytes.size(), p.length,
                 static_cast<std::uint32_t>(p.link_type));
  }
  const auto& status = (*reader)->status();
  const auto& k = (*reader)->counters();
  if (!packets)
    fmt::print("{} {} packets={} bytes={} first={} last={} types={} longer_than_wire={} {}\n",
               status.ok() ? "OK" : "FAULT", path, k.packets, k.bytes, first, last,
               fmt::join(types, ","), k.longer_than_wire,
               status.ok() ? std::string() : status.error().message);
  return status.ok();
}

}  // namespace

int main(int argc, char** argv) {
  bool clean = true;
  const bool packets = argc > 1 && std::strcmp(argv[1], "--packets") == 0;
  for (int i = packets ? 2 : 1; i < argc; ++i) clean &= show(argv[i], packets);
  return clean ? 0 : 1;
}
