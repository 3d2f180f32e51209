// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/replay_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "merlon/control/config_print.h"
#include "merlon/control/runtime.h"
#include "merlon/engine/replay.h"
#include "merlon/telemetry/event_writer.h"
#include "replay_summary.h"

namespace merlon::control {
namespace {

using base::Errc;
using base::Error;

constexpr std::string_view kTapText =
    "version: 1\nports:\n  capture: {device: replay}\ntaps: [capture]\n"
    "policy:\n  default: permit\n  default_log: both\n";
constexpr std::string_view kWireText =
    "version: 1\nports:\n  left: {device: replay}\n  right: {device: replay}\nwires:\n  replay: "
    "{ports: [left, right]}\n"
    "policy:\n  default: permit\n  default_log: both\n";

// Keys at the left edge of a block-style file, with the line each starts in.
std::vector<std::pair<std::string, std::size_t>> top_keys(const std::vector<std::string>& lines) {
  std::vector<std::pair<std::string, std::size_t>> keys;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const auto colon = lines[n].find(':');
    if (colon == std::string::npos || lines[n].find_first_of(" \t#-") < colon) continue;
    keys.emplace_back(lines[n].substr(0, colon), n);
  }
  return keys;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Blanks the sections of `text` that `policy` has too; lines keep their numbers, so errors keep
// their places.
std::string without_sections_of(const std::string& text, const std::string& policy) {
  std::vector<std::string> lines = split_lines(text);
  const auto own = top_keys(lines), theirs = top_keys(split_lines(policy));
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (std::ranges::none_of(theirs, [&](const auto& t) { return t.first == own[k].first; }))
      continue;
    const std::size_t end = k + 1 < own.size() ? own[k + 1].second : lines.size();
    for (std::size_t n = own[k].second; n < end; ++n) lines[n].clear();
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// The configuration with the sections of the policy file in place of its own.
LoadResult load_configuration(const ReplayOptions& o) {
  const bool is_tap = o.tap.value_or(true);
  if (o.policy_file.empty())
    return o.config_file.empty()
               ? load_bundle(Bundle::of(std::string(is_tap ? kTapText : kWireText), "(built in)"))
               : load_file(o.config_file);
  DiskFiles disk;
  LoadResult failed;
  const auto policy = disk.read(o.policy_file);
  if (!policy) failed.errors.push_back(policy.error());
  base::Result<std::string> main(std::string(is_tap ? kTapText : kWireText));
  if (!o.config_file.empty()) main = disk.read(o.config_file);
  if (!main) failed.errors.push_back(main.error());
  if (!failed.errors.empty()) return failed;
  // One line more at the end brings the policy file in; a file that includes others already gets it
  // as one more.
  std::string text = without_sections_of(*main, *policy);
  const auto include = text.find("\ninclude:");
  const std::string name = std::filesystem::absolute(o.policy_file).string();
  if (include == std::string::npos) {
    text += "include: [\"" + name + "\"]\n";
  } else {
    return LoadResult{
        .config = {},
        .errors = {Error{
            .code = Errc::kUnsupported,
            .message = "a configuration that includes files can't be combined with --policy",
            .hint = "give a configuration in one file, or leave --policy out"}},
        .warnings = {},
        .bundle = {},
        .draft = {},
        .state_directory = {}};
  }
  Bundle bundle = Bundle::of(std::move(text), o.config_file.empty() ? "(built in)" : o.config_file);
  bundle.files.push_back({name, *policy});
  return load_bundle(bundle);
}

// --mode tap: every port becomes a tap; --mode wire: the first two ports, or one port twice, become
// a wire.
void set_mode(LoadedConfig& config, bool is_tap) {
  engine::EngineConfig& e = config.engine;
  if (is_tap) {
    e.wires.clear();
    e.taps.clear();
    for (std::uint16_t p = 0; p < e.ports.size(); ++p) e.taps.push_back(p);
    return;
  }
  if (!e.wires.empty()) return;
  while (e.ports.size() < 2) {
    engine::PortConfig far = e.ports.empty() ? engine::PortConfig{} : e.ports.front();
    far.name = e.ports.empty() ? "left" : e.ports.front().name + "-far";
    e.ports.push_back(far);
    config.policy.ports.push_back(far.name);
  }
  e.taps.clear();
  e.wires.push_back({.name = "replay", .port_a = 0, .port_b = 1});
}

// Frames that left, written in the form of the first captured packet.
class Output {
 public:
  void open(const std::string& path) { path_ = path; }
  void write(const std::vector<engine::SentFrame>& frames, io::LinkType type) {
    if (path_.empty()) return;
    if (writer_ == nullptr && !create(type)) return;
    for (const engine::SentFrame& f : frames) {
      if (type != type_) {
        ++other_type_;
        continue;
      }
      writer_->write({f.buffer->data, f.buffer->length}, f.buffer->wire_length, f.buffer->time);
    }
  }
  base::Result<void> close() {
    if (!path_.empty() && writer_ == nullptr && status_.ok())
      static_cast<void>(create(io::LinkType::kEthernet));
    if (!status_.ok() || writer_ == nullptr) return status_;
    return writer_->close();
  }
  [[nodiscard]] std::uint64_t other_type() const noexcept { return other_type_; }

 private:
  bool create(io::LinkType type) {
    if (!status_.ok()) return false;
    type_ = type;
    const auto format =
        path_.ends_with(".pcapng") ? io::CaptureFormat::kPcapng : io::CaptureFormat::kPcapNanos;
    auto writer = io::CaptureWriter::create(path_, format, type);
    if (!writer) {
      status_ = writer.error();
      return false;
    }
    writer_ = std::move(*writer);
    return true;
  }

  std::string path_;
  base::Result<void> status_;
  std::unique_ptr<io::CaptureWriter> writer_;
  io::LinkType type_ = io::LinkType::kEthernet;
  std::uint64_t other_type_ = 0;  // frames that one file can't hold beside the others
};

int fail(const Error& error) {
  std::fputs((error.to_string() + "\n").c_str(), stderr);
  return 1;
}

class Replay {
 public:
  Replay(const ReplayOptions& options, LoadedConfig config)
      : options_(options), config_(std::move(config)) {}

  int run();

 private:
  base::Result<void> set_up();
  base::Result<void> play_all();
  void play_one(io::CaptureReader& reader);
  int finish();

  const ReplayOptions& options_;
  LoadedConfig config_;
  std::unique_ptr<engine::ReplayFeed> feed_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<telemetry::EventWriter> events_;
  Output output_;
  ReplaySummary summary_;
};

base::Result<void> Replay::set_up() {
  std::vector<std::string> names;
  for (const auto& p : config_.engine.ports) names.push_back(p.name);
  auto feed =
      engine::ReplayFeed::create(names, engine::choose_by_zone(config_.engine, config_.policy));
  if (!feed) return feed.error();
  feed_ = std::move(*feed);
  output_.open(options_.out_capture);
  return {};
}

base::Result<void> Replay::play_all() {
  for (const std::string& path : options_.captures) {
    auto reader = io::CaptureReader::open(path);
    if (!reader) return reader.error();
    play_one(**reader);
    summary_.add_capture(path, **reader);
  }
  return {};
}

void Replay::play_one(io::CaptureReader& reader) {
  feed_->read_from(reader);
  const auto drain = [this] {
    events_->gather();
    runtime_->tick(feed_->now());
  };
  engine::play(*feed_, *runtime_->engine(), drain, [this] {
    events_->pump(feed_->now());
    output_.write(feed_->sent(), feed_->link_type());
  });
}

int Replay::finish() {
  // What is still open at the end of the captures ends here.
  runtime_->engine()->stop([this] { events_->gather(); });
  events_->finish(feed_->now());
  summary_.take(*feed_, *runtime_);
  const std::string directory = options_.out_directory;
  if (auto closed = output_.close(); !closed) return fail(closed.error());
  if (auto written = summary_.write(directory + "/summary.json"); !written)
    return fail(written.error());
  for (const auto& sink : events_->sinks())
    if (sink.lost != 0)
      return fail(
          {.code = Errc::kIo,
           .message = fmt::format("{} events could not be written to {}", sink.lost, directory)});
  if (!options_.quiet) std::fputs(summary_.to_text(directory).c_str(), stdout);
  return summary_.has_errors() ? 1 : 0;
}

int Replay::run() {
  if (auto ok = set_up(); !ok) return fail(ok.error());
  std::error_code ec;
  std::filesystem::create_directories(options_.out_directory, ec);
  runtime_ = std::make_unique<Runtime>(
      [this](const engine::EngineConfig&) -> base::Result<std::vector<std::unique_ptr<io::Port>>> {
        return feed_->make_ports();
      },
      feed_->clock());
  if (auto applied = runtime_->apply(nullptr, config_, nullptr); !applied)
    return fail(applied.error());
  events_ = std::make_unique<telemetry::EventWriter>(
      runtime_->engine()->event_rings(), runtime_->names(),
      telemetry::EventWriterOptions{
          .eve = {.host = {},
                  .community_id = options_.community_id || config_.events.community_id}});
  auto sink =
      telemetry::open_file_sink({.path = options_.out_directory + "/eve.json", .truncate = true});
  if (!sink) return fail(sink.error());
  events_->add_sink(std::move(*sink));
  const auto played = play_all();
  const int code = finish();
  if (!played) return fail(played.error());
  return code;
}

}  // namespace

int run_replay(const ReplayOptions& options) {
  Runtime compiler(
      [](const engine::EngineConfig&) -> base::Result<std::vector<std::unique_ptr<io::Port>>> {
        return std::vector<std::unique_ptr<io::Port>>();
      });
  CheckReport checked = check_loaded(compiler, load_configuration(options));
  if (!checked.config) {
    std::fputs(format_findings(checked.errors, checked.warnings, checked.bundle,
                               {.outcome = "nothing was replayed"})
                   .c_str(),
               stderr);
    return 3;
  }
  LoadedConfig& config = *checked.config;
  if (options.tap && !options.config_file.empty()) set_mode(config, *options.tap);
  if (options.workers != 0) config.engine.workers = options.workers;
  config.engine.worker_cores.clear();
  config.engine.tells_sides = false;
  config.engine.event_ring_records = 32'768;  // drained after every few turns
  return Replay(options, std::move(config)).run();
}

}  // namespace merlon::control
