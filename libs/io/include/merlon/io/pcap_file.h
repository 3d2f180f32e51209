// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading and writing packet captures: pcap (both byte orders, µs and ns, the "modified" record
// header) and pcapng (both byte orders, several sections and interfaces). Reader and writer are
// single-thread objects for replay and export; both stream with fixed memory, so a pipe works like
// a file of any size. Sources: IETF drafts draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/bytes.h"
#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/io/link_type.h"

namespace merlon::io {

// A record or block above this is refused: nothing that captures frames writes such a thing.
inline constexpr std::uint32_t kMaxRecordSize = 1U << 20;
// Interfaces of all sections of one file together.
inline constexpr std::uint32_t kMaxCaptureInterfaces = 4096;

struct CapturePacket {
  base::ByteSpan bytes;      // what was captured; valid until the next call on the reader
  std::uint32_t length = 0;  // on the wire, never less than bytes.size()
  base::Nanos time = 0;      // since the Unix epoch
  std::uint64_t number = 0;  // 1 for the first packet of the file
  LinkType link_type = LinkType::kEthernet;
  std::uint32_t interface = 0;  // index into CaptureReader::interfaces()
};

struct CaptureInterface {
  std::string name;  // if_name; empty in pcap files
  LinkType link_type = LinkType::kEthernet;
  std::uint32_t snap_length = 0;  // 0: unlimited
  std::uint8_t resolution =
      6;  // if_tsresol as written: 10^-n seconds, or 2^-(n & 127) with the top bit set
  std::int64_t offset_seconds = 0;  // if_tsoffset
};

enum class CaptureFormat : std::uint8_t { kPcapMicros, kPcapNanos, kPcapng };

struct CaptureReaderCounters {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;              // captured
  std::uint64_t longer_than_wire = 0;   // records that claim to hold more than was on the wire
  std::uint64_t time_out_of_range = 0;  // stamps outside what Nanos can hold; clamped
  std::uint64_t skipped_blocks = 0;     // pcapng blocks that carry no packet
};

class CaptureReader {
 public:
  // `path` "-" reads standard input. Fails with kIo when the file can't be opened, kInvalidValue
  // when it is no capture; the first section's header and a pcap file's link type are known
  // afterwards.
  static base::Result<std::unique_ptr<CaptureReader>> open(const std::string& path);
  // Reads from memory, which must outlive the reader; `name` is for messages.
  static base::Result<std::unique_ptr<CaptureReader>> open(base::ByteSpan bytes,
                                                           const std::string& name);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  // The next packet; false at the end and at the first fault, which status() tells apart. Every
  // packet before a fault has been delivered.
  bool next(CapturePacket& packet);

  // Ok at a clean end and before it; else what is wrong, with file and byte offset. Sticky.
  [[nodiscard]] const base::Result<void>& status() const noexcept { return status_; }
  // Interfaces met so far; pcap files have one.
  [[nodiscard]] const std::vector<CaptureInterface>& interfaces() const noexcept {
    return interfaces_;
  }
  [[nodiscard]] CaptureFormat format() const noexcept { return format_; }
  [[nodiscard]] const CaptureReaderCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  class Input;
  struct Block;

  CaptureReader(std::unique_ptr<Input> input, std::string name);
  static base::Result<std::unique_ptr<CaptureReader>> open_input(std::unique_ptr<Input> input,
                                                                 std::string name);
  bool read_start();
  bool read_pcap_header(std::uint32_t magic);
  bool next_pcap(CapturePacket& packet);
  bool read_block(Block& block);
  bool next_block(CapturePacket& packet);
  bool read_section(const Block& block);
  bool read_interface(const Block& block);
  bool read_options(base::ByteSpan options, CaptureInterface& interface);
  bool read_enhanced(const Block& block, CapturePacket& packet);
  bool read_simple(const Block& block, CapturePacket& packet);
  bool deliver(CapturePacket& packet, std::uint32_t interface, base::ByteSpan bytes,
               std::uint32_t length, base::Nanos time);
  base::Nanos stamp(const CaptureInterface& interface, std::uint64_t ticks);
  bool fail(base::Errc code, std::string message);
  bool fail_truncated(const char* what, std::size_t wanted);
  [[nodiscard]] std::uint16_t u16(const base::Byte* p) const noexcept;
  [[nodiscard]] std::uint32_t u32(const base::Byte* p) const noexcept;

  std::unique_ptr<Input> input_;
  std::string name_;
  base::Result<void> status_;
  std::vector<CaptureInterface> interfaces_;
  std::size_t section_first_ = 0;  // first interface of the current section
  CaptureReaderCounters counters_;
  CaptureFormat format_ = CaptureFormat::kPcapMicros;
  base::Nanos last_time_ = 0;
  std::uint32_t record_header_size_ = 16;
  std::uint16_t version_minor_ = 4;
  bool is_swapped_ = false;  // file's byte order is not ours
  bool is_finished_ = false;
};

// Writes captures. Output is buffered (256 KiB); an error (disk full) is sticky, later writes are
// refused and counted, and close() tells.
class CaptureWriter {
 public:
  // Creates or truncates `path`; "-" is standard output. A pcap file has the one interface of
  // `link_type`; a pcapng file starts with interface 0 of that type, named `interface_name` when
  // not empty.
  static base::Result<std::unique_ptr<CaptureWriter>> create(
      const std::string& path, CaptureFormat format, LinkType link_type = LinkType::kEthernet,
      std::string_view interface_name = {});
  // Keeps everything in memory until take_bytes().
  static std::unique_ptr<CaptureWriter> to_memory(CaptureFormat format,
                                                  LinkType link_type = LinkType::kEthernet,
                                                  std::string_view interface_name = {});
  // Closes; errors at this point are lost, so call close() first.
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  // Declares one more interface; returns its index for write(). kUnsupported for pcap files.
  base::Result<std::uint32_t> add_interface(std::string_view name, LinkType link_type);

  // Appends one packet; `length` is what was on the wire (raised to bytes.size() when smaller).
  // `comment` is kept in pcapng only. False when it was not written: an earlier or new error, or
  // bytes above 256 KiB.
  bool write(base::ByteSpan bytes, std::uint32_t length, base::Nanos time,
             std::uint32_t interface = 0, std::string_view comment = {}) noexcept;

  base::Result<void> flush();
  base::Result<void> close();
  [[nodiscard]] const base::Result<void>& status() const noexcept { return status_; }
  [[nodiscard]] std::uint64_t packet_count() const noexcept { return packets_; }
  [[nodiscard]] std::uint64_t refused_count() const noexcept { return refused_; }
  // What a writer to memory holds so far; it starts again empty.
  std::vector<base::Byte> take_bytes();

 private:
  CaptureWriter(int fd, std::string path, CaptureFormat format);
  void write_start(LinkType link_type, std::string_view interface_name);
  void write_interface(std::string_view name, LinkType link_type);
  void put(const void* bytes, std::size_t size);
  void put16(std::uint16_t v) { put(&v, sizeof v); }
  void put32(std::uint32_t v) { put(&v, sizeof v); }
  void put_option(std::uint16_t code, std::string_view value);
  bool drain() noexcept;

  int fd_;  // -1: memory
  std::string path_;
  CaptureFormat format_;
  base::Result<void> status_;
  std::vector<base::Byte> buffer_;
  std::uint32_t interfaces_ = 1;
  std::uint64_t packets_ = 0;
  std::uint64_t refused_ = 0;
  bool is_closed_ = false;
};

}  // namespace merlon::io
