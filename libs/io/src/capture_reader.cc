// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "capture_input.h"

namespace merlon::io {
namespace {

constexpr std::uint32_t kMagicMicros = 0xa1b2c3d4;
constexpr std::uint32_t kMagicNanos = 0xa1b23c4d;
constexpr std::uint32_t kMagicModified = 0xa1b2cd34;
constexpr std::uint32_t kBlockSection = 0x0a0d0d0a;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint32_t kBlockInterface = 1, kBlockPacket = 2, kBlockSimple = 3, kBlockEnhanced = 6;
constexpr std::uint16_t kOptionEnd = 0, kOptionName = 2, kOptionResolution = 9, kOptionOffset = 14;

constexpr std::uint64_t kPowersOfTen[] = {1,
                                          10,
                                          100,
                                          1'000,
                                          10'000,
                                          100'000,
                                          1'000'000,
                                          10'000'000,
                                          100'000'000,
                                          1'000'000'000,
                                          10'000'000'000,
                                          100'000'000'000,
                                          1'000'000'000'000,
                                          10'000'000'000'000,
                                          100'000'000'000'000,
                                          1'000'000'000'000'000,
                                          10'000'000'000'000'000,
                                          100'000'000'000'000'000,
                                          1'000'000'000'000'000'000,
                                          10'000'000'000'000'000'000ULL};

__extension__ using Wide = __int128;

constexpr std::size_t padded(std::size_t n) noexcept { return (n + 3) & ~std::size_t{3}; }

const char* compression_of(std::uint32_t first_bytes_le) noexcept {
  if ((first_bytes_le & 0xffff) == 0x8b1f) return "gzip";
  if (first_bytes_le == 0xfd2fb528) return "zstd";
  if (first_bytes_le == 0x587a37fd) return "xz";
  if ((first_bytes_le & 0xffffff) == 0x685a42) return "bzip2";
  return nullptr;
}

}  // namespace

// One pcapng block, whole.
struct CaptureReader::Block {
  std::uint32_t type = 0;
  base::ByteSpan body;    // between the two lengths
  std::size_t total = 0;  // to be taken from the input when done
};

CaptureReader::CaptureReader(std::unique_ptr<Input> input, std::string name)
    : input_(std::move(input)), name_(std::move(name)) {}
CaptureReader::~CaptureReader() = default;

std::uint16_t CaptureReader::u16(const base::Byte* p) const noexcept {
  const auto v = base::load_raw<std::uint16_t>(p);
  return is_swapped_ ? base::byteswap(v) : v;
}
std::uint32_t CaptureReader::u32(const base::Byte* p) const noexcept {
  const auto v = base::load_raw<std::uint32_t>(p);
  return is_swapped_ ? base::byteswap(v) : v;
}

bool CaptureReader::fail(base::Errc code, std::string message) {
  is_finished_ = true;
  base::SourcePos where;
  where.file = name_;
  status_ = base::Error{
      code, fmt::format("{}: {} at byte {}", name_, message, input_->offset()), where, {}};
  return false;
}

bool CaptureReader::fail_truncated(const char* what, std::size_t wanted) {
  if (input_->read_error() != 0)
    return fail(base::Errc::kIo,
                fmt::format("can't read ({})", std::strerror(input_->read_error())));
  return fail(base::Errc::kIo, fmt::format("the file ends inside a {} ({} of {} bytes are there)",
                                           what, input_->available(), wanted));
}

base::Result<std::unique_ptr<CaptureReader>> CaptureReader::open(const std::string& path) {
  if (path == "-") return open_input(std::make_unique<Input>(0, false), "standard input");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st {};
  if (fd < 0 || ::fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
    const int error = fd >= 0 ? EISDIR : errno;
    if (fd >= 0) ::close(fd);
    base::SourcePos where;
    where.file = path;
    return base::Error{
        base::Errc::kIo, fmt::format("can't open {}: {}", path, std::strerror(error)), where, {}};
  }
  return open_input(std::make_unique<Input>(fd, true), path);
}

base::Result<std::unique_ptr<CaptureReader>> CaptureReader::open(base::ByteSpan bytes,
                                                                 const std::string& name) {
  return open_input(std::make_unique<Input>(bytes), name);
}

base::Result<std::unique_ptr<CaptureReader>> CaptureReader::open_input(std::unique_ptr<Input> input,
                                                                       std::string name) {
  std::unique_ptr<CaptureReader> reader(new CaptureReader(std::move(input), std::move(name)));
  if (!reader->read_start()) return reader->status_.error();
  return reader;
}

bool CaptureReader::read_start() {
  const base::Byte* p = input_->peek(4);
  if (p == nullptr) return fail_truncated("file header", 4);
  const auto magic = base::load_raw<std::uint32_t>(p);
  if (magic == kBlockSection) {
    format_ = CaptureFormat::kPcapng;
    Block block;
    if (!read_block(block) || !read_section(block)) return false;
    input_->take(block.total);
    return true;
  }
  for (const std::uint32_t known : {kMagicMicros, kMagicNanos, kMagicModified}) {
    is_swapped_ = magic == base::byteswap(known);
    if (magic == known || is_swapped_) return read_pcap_header(known);
  }
  if (const char* compression = compression_of(base::load_le<std::uint32_t>(p))) {
    fail(base::Errc::kUnsupported, fmt::format("the file is compressed with {}", compression));
    base::Error e = status_.error();
    e.hint = "decompress it first, or pipe it: zcat FILE | ... -";
    status_ = e;
    return false;
  }
  return fail(base::Errc::kInvalidValue, fmt::format("no packet capture (starts with {:08x})",
                                                     base::load_be<std::uint32_t>(p)));
}

bool CaptureReader::read_pcap_header(std::uint32_t magic) {
  constexpr std::size_t kSize = 24;
  const base::Byte* p = input_->peek(kSize);
  if (p == nullptr) return fail_truncated("file header", kSize);
  if (u16(p + 4) != 2)
    return fail(base::Errc::kUnsupported,
                fmt::format("pcap version {}.{} is not 2.x", u16(p + 4), u16(p + 6)));
  version_minor_ = u16(p + 6);
  format_ = magic == kMagicNanos ? CaptureFormat::kPcapNanos : CaptureFormat::kPcapMicros;
  record_header_size_ = magic == kMagicModified ? 24 : 16;
  CaptureInterface i;
  i.snap_length = u32(p + 16);
  // The upper half tells the length of a frame check sequence; the parser copes with trailing
  // bytes.
  i.link_type = static_cast<LinkType>(u32(p + 20) & 0xffff);
  i.resolution = magic == kMagicNanos ? 9 : 6;
  interfaces_.push_back(std::move(i));
  input_->take(kSize);
  return true;
}

bool CaptureReader::next(CapturePacket& packet) {
  if (is_finished_) return false;
  return format_ == CaptureFormat::kPcapng ? next_block(packet) : next_pcap(packet);
}

bool CaptureReader::next_pcap(CapturePacket& packet) {
  const base::Byte* p = input_->peek(record_header_size_);
  if (p == nullptr) {
    if (input_->available() == 0 && input_->read_error() == 0) {
      is_finished_ = true;
      return false;
    }
    return fail_truncated("record header", record_header_size_);
  }
  std::uint32_t captured = u32(p + 8);
  std::uint32_t length = u32(p + 12);
  // Before version 2.3 the lengths stood in the other order; in 2.3 writers differ.
  if (version_minor_ < 3 || (version_minor_ == 3 && captured > length)) std::swap(captured, length);
  if (captured > kMaxRecordSize - record_header_size_)
    return fail(base::Errc::kInvalidValue,
                fmt::format("a record claims {} bytes (limit {})", captured, kMaxRecordSize));
  const std::uint64_t seconds = u32(p);
  const std::uint64_t fraction = u32(p + 4);
  const std::uint64_t unit = format_ == CaptureFormat::kPcapNanos ? 1 : 1000;
  const std::size_t total = record_header_size_ + captured;
  p = input_->peek(total);
  if (p == nullptr) return fail_truncated("record", total);
  input_->take(total);
  // At most 2^32 s + 2^32 µs: fits.
  const auto time = static_cast<base::Nanos>(seconds * 1'000'000'000 + fraction * unit);
  return deliver(packet, 0, {p + record_header_size_, captured}, length, time);
}

bool CaptureReader::deliver(CapturePacket& packet, std::uint32_t interface, base::ByteSpan bytes,
                            std::uint32_t length, base::Nanos time) {
  if (bytes.size() > length) ++counters_.longer_than_wire;
  ++counters_.packets;
  counters_.bytes += bytes.size();
  last_time_ = time;
  packet.bytes = bytes;
  packet.length = std::max(length, static_cast<std::uint32_t>(bytes.size()));
  packet.time = time;
  packet.number = counters_.packets;
  packet.link_type = interfaces_[interface].link_type;
  packet.interface = interface;
  return true;
}

// Shows the next block without taking it. A section header carries the byte order of its own
// length, so it is looked at first.
bool CaptureReader::read_block(Block& block) {
  const base::Byte* p = input_->peek(12);
  if (p == nullptr) return fail_truncated("block header", 12);
  const auto raw_type = base::load_raw<std::uint32_t>(p);
  if (raw_type == kBlockSection) {
    const auto order = base::load_raw<std::uint32_t>(p + 8);
    if (order != kByteOrderMagic && order != base::byteswap(kByteOrderMagic))
      return fail(base::Errc::kInvalidValue,
                  fmt::format("a section with byte order {:08x}", order));
    is_swapped_ = order != kByteOrderMagic;
  }
  block.type = u32(p);
  block.total = u32(p + 4);
  if (block.total < 12 || block.total % 4 != 0 || block.total > kMaxRecordSize)
    return fail(base::Errc::kInvalidValue,
                fmt::format("a block of type {:#x} claims {} bytes (limit {})", block.type,
                            block.total, kMaxRecordSize));
  p = input_->peek(block.total);
  if (p == nullptr) return fail_truncated("block", block.total);
  if (u32(p + block.total - 4) != block.total)
    return fail(base::Errc::kInvalidValue,
                fmt::format("a block of type {:#x} has two lengths, {} and {}", block.type,
                            block.total, u32(p + block.total - 4)));
  block.body = {p + 8, block.total - 12};
  return true;
}

bool CaptureReader::next_block(CapturePacket& packet) {
  for (;;) {
    if (input_->peek(1) == nullptr && input_->read_error() == 0) {
      is_finished_ = true;
      return false;
    }
    Block block;
    if (!read_block(block)) return false;
    bool has_packet = false;
    switch (block.type) {
      case kBlockSection:
        if (!read_section(block)) return false;
        break;
      case kBlockInterface:
        if (!read_interface(block)) return false;
        break;
      case kBlockEnhanced:
      case kBlockPacket:
        if (!read_enhanced(block, packet)) return false;
        has_packet = true;
        break;
      case kBlockSimple:
        if (!read_simple(block, packet)) return false;
        has_packet = true;
        break;
      default:
        ++counters_.skipped_blocks;
    }
    input_->take(block.total);
    if (has_packet) return true;
  }
}

bool CaptureReader::read_section(const Block& block) {
  if (block.body.size() < 16)
    return fail(base::Errc::kInvalidValue, "a section header is too short");
  const std::uint16_t major = u16(block.body.data() + 4);
  if (major != 1)
    return fail(base::Errc::kUnsupported, fmt::format("pcapng version {} is not 1", major));
  section_first_ = interfaces_.size();
  return true;
}

bool CaptureReader::read_interface(const Block& block) {
  if (block.body.size() < 8)
    return fail(base::Errc::kInvalidValue, "an interface description is too short");
  if (interfaces_.size() == kMaxCaptureInterfaces)
    return fail(base::Errc::kCapacity,
                fmt::format("more than {} interfaces", kMaxCaptureInterfaces));
  CaptureInterface i;
  i.link_type = static_cast<LinkType>(u16(block.body.data()));
  i.snap_length = u32(block.body.data() + 4);
  if (!read_options(block.body.subspan(8), i)) return false;
  interfaces_.push_back(std::move(i));
  return true;
}

bool CaptureReader::read_options(base::ByteSpan options, CaptureInterface& interface) {
  while (options.size() >= 4) {
    const std::uint16_t code = u16(options.data());
    const std::size_t size = u16(options.data() + 2);
    if (code == kOptionEnd) break;
    if (padded(size) > options.size() - 4)
      return fail(
          base::Errc::kInvalidValue,
          fmt::format("an interface option claims {} of {} bytes", size, options.size() - 4));
    const base::Byte* value = options.data() + 4;
    if (code == kOptionName) {
      interface.name.assign(value, value + std::min<std::size_t>(size, 255));
    } else if (code == kOptionResolution && size >= 1) {
      interface.resolution = value[0];
    } else if (code == kOptionOffset && size >= 8) {
      const auto raw = base::load_raw<std::uint64_t>(value);
      interface.offset_seconds = static_cast<std::int64_t>(is_swapped_ ? base::byteswap(raw) : raw);
    }
    options = options.subspan(4 + padded(size));
  }
  return true;
}

// The enhanced packet block and its ancestor differ only in the width of the interface number.
bool CaptureReader::read_enhanced(const Block& block, CapturePacket& packet) {
  constexpr std::size_t kFixed = 20;
  if (block.body.size() < kFixed)
    return fail(base::Errc::kInvalidValue, "a packet block is too short");
  const base::Byte* p = block.body.data();
  const std::size_t id = block.type == kBlockEnhanced ? u32(p) : u16(p);
  const std::uint64_t ticks = std::uint64_t{u32(p + 4)} << 32 | u32(p + 8);
  const std::uint32_t captured = u32(p + 12);
  if (id >= interfaces_.size() - section_first_)
    return fail(base::Errc::kInvalidValue, fmt::format("a packet of unknown interface {}", id));
  if (captured > block.body.size() - kFixed)
    return fail(base::Errc::kInvalidValue, fmt::format("a packet claims {} of {} bytes", captured,
                                                       block.body.size() - kFixed));
  const std::size_t i = section_first_ + id;
  return deliver(packet, static_cast<std::uint32_t>(i), {p + kFixed, captured}, u32(p + 16),
                 stamp(interfaces_[i], ticks));
}

// A simple packet block has no stamp: it gets that of the packet before it.
bool CaptureReader::read_simple(const Block& block, CapturePacket& packet) {
  if (block.body.size() < 4) return fail(base::Errc::kInvalidValue, "a packet block is too short");
  if (interfaces_.size() == section_first_)
    return fail(base::Errc::kInvalidValue, "a packet of unknown interface 0");
  const CaptureInterface& i = interfaces_[section_first_];
  const std::uint32_t length = u32(block.body.data());
  std::size_t captured = std::min<std::size_t>(length, block.body.size() - 4);
  if (i.snap_length != 0) captured = std::min<std::size_t>(captured, i.snap_length);
  return deliver(packet, static_cast<std::uint32_t>(section_first_),
                 block.body.subspan(4, captured), length, last_time_);
}

base::Nanos CaptureReader::stamp(const CaptureInterface& interface, std::uint64_t ticks) {
  const unsigned n = interface.resolution & 0x7f;
  Wide nanos;
  if ((interface.resolution & 0x80) != 0) {
    nanos = (static_cast<Wide>(ticks) * 1'000'000'000) >> n;
  } else if (n <= 9) {
    nanos = static_cast<Wide>(ticks) * static_cast<Wide>(kPowersOfTen[9 - n]);
  } else {
    nanos = n - 9 < std::size(kPowersOfTen) ? static_cast<Wide>(ticks / kPowersOfTen[n - 9]) : 0;
  }
  nanos += static_cast<Wide>(interface.offset_seconds) * 1'000'000'000;
  constexpr Wide kMin = std::numeric_limits<base::Nanos>::min();
  constexpr Wide kMax = std::numeric_limits<base::Nanos>::max();
  if (nanos < kMin || nanos > kMax) ++counters_.time_out_of_range;
  return static_cast<base::Nanos>(std::clamp(nanos, kMin, kMax));
}

}  // namespace merlon::io
