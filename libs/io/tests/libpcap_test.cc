// SPDX-License-Identifier: Apache-2.0
// Our reader against libpcap, packet by packet, over every capture of a folder: $MERLON_DATA, or
// shared/data beside the repository.
#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "merlon/io/pcap_file.h"

namespace merlon::io {
namespace {

namespace fs = std::filesystem;

// libpcap translates the link types whose numbers differ between systems.
std::uint32_t as_libpcap(LinkType t) {
  const auto n = static_cast<std::uint32_t>(t);
  return t == LinkType::kRaw ? DLT_RAW : n == 104 ? DLT_C_HDLC : n;
}

// Empty when both agree. Packets that libpcap delivers before its own error must be ours too.
std::string difference(const std::string& path, std::size_t& packets) {
  char error[PCAP_ERRBUF_SIZE];
  pcap_t* theirs =
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
  auto ours = CaptureReader::open(path);
  if (theirs == nullptr) return "";
  if (!ours.ok()) {
    pcap_close(theirs);
    return "only libpcap opens it: " + ours.error().message;
  }
  std::string found;
  CapturePacket p;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int result;
  while (found.empty() && (result = pcap_next_ex(theirs, &header, &data)) == 1) {
    ++packets;
    if (!(*ours)->next(p)) {
      found = "ends early";
    } else if (p.bytes.size() != header->caplen ||
               p.length != std::max(header->len, header->caplen) ||
               as_libpcap(p.link_type) != static_cast<std::uint32_t>(pcap_datalink(theirs)) ||
               (p.bytes.size() > 0 && std::memcmp(p.bytes.data(), data, p.bytes.size()) != 0)) {
      found = "packet " + std::to_string(p.number) + " differs";
    } else if (const base::Nanos whole = header->ts.tv_sec * base::kNanosPerSecond;
               // A fraction above a second is read as a negative number there.
               p.time - whole < base::kNanosPerSecond && p.time != whole + header->ts.tv_usec) {
      found = "time of packet " + std::to_string(p.number) + " differs";
    }
  }
  if (found.empty() && result == PCAP_ERROR_BREAK && (*ours)->next(p)) found = "has more packets";
  if (found.empty() && result == PCAP_ERROR_BREAK && !(*ours)->status().ok())
    found = "is clean for libpcap";
  pcap_close(theirs);
  return found;
}

TEST(AgainstLibpcap, EveryCaptureReadsTheSame) {
  const char* named = std::getenv("MERLON_DATA");
  const fs::path folder = named != nullptr ? fs::path(named) : fs::path(MERLON_DEFAULT_DATA);
  if (!fs::exists(folder)) GTEST_SKIP() << "no captures at " << folder << "; set MERLON_DATA";
  std::size_t files = 0, packets = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (extension != ".pcap" && extension != ".pcapng" && extension != ".cap") continue;
    ++files;
    EXPECT_EQ(difference(entry.path(), packets), "") << entry.path();
  }
  EXPECT_GT(files, 0u);
  RecordProperty("files", static_cast<int>(files));
  RecordProperty("packets", static_cast<int>(packets));
  std::printf("%zu files, %zu packets compared\n", files, packets);
}

}  // namespace
}  // namespace merlon::io
