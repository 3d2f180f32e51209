// SPDX-License-Identifier: Apache-2.0
// The live view: tables of the API drawn again and again on a plain ANSI terminal.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>

#include "api.h"
#include "merlon/client/words.h"
#include "verbs.h"

namespace merlon::cli {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kTabs = {"overview", "ports", "workers",
                                                   "policy",   "drops", "pools"};

volatile std::sig_atomic_t g_stop = 0;

// Puts the terminal back however the view ends.
class RawTerminal {
 public:
  RawTerminal() {
    is_set_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!is_set_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~RawTerminal() {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool is_set_ = false;
};

std::string table_lines(const client::Table& table, std::vector<std::string> columns,
                        std::vector<std::string> sort, std::uint64_t limit, bool has_color) {
  client::WriterOptions options;
  options.format = client::Format::kText;
  options.limit = limit;
  options.has_color = has_color;
  // A daemon of another version may lack a column: show the rest.
  std::erase_if(columns, [&table](const std::string& name) {
    return std::ranges::find(table.columns, name, &client::Column::name) == table.columns.end();
  });
  std::erase_if(sort, [&table](const std::string& name) {
    return std::ranges::find(table.columns, name.substr(1), &client::Column::name) ==
           table.columns.end();
  });
  options.columns = std::move(columns);
  options.sort = std::move(sort);
  std::string out;
  static_cast<void>(client::write_table(table, options, [&out](std::string_view piece) {
    out += piece;
    return true;
  }));
  return out;
}

// Cuts lines to the terminal's width, letters not bytes, escape sequences free of charge.
std::string fit(std::string_view text, unsigned width, unsigned height) {
  std::string out;
  unsigned column = 0, line = 0;
  bool is_escape = false;
  for (const char c : text) {
    if (c == '\n') {
      if (++line >= height) break;
      out += "\x1b[K\n";
      column = 0;
      continue;
    }
    if (c == '\x1b') is_escape = true;
    const bool is_first_byte = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (!is_escape && is_first_byte) ++column;
    if (is_escape || column <= width) out += c;
    if (is_escape && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) is_escape = false;
  }
  return out;
}

std::string head_line(const json& s, unsigned tab, bool has_color) {
  const auto text = [&s](const char* key) {
    const auto found = s.find(key);
    if (found == s.end() || found->is_null()) return std::string("-");
    return client::printable(found->is_string() ? found->get<std::string>() : found->dump());
  };
  std::string out =
      fmt::format("{}  {}  revision {}  {} of {} sessions  {}\n", text("name"), text("state"),
                  text("config_revision"), text("sessions"), text("session_limit"), text("time"));
  if (text("confirm_deadline") != "-")
    out += fmt::format("a commit waits for its confirmation until {}\n", text("confirm_deadline"));
  for (std::size_t i = 0; i < kTabs.size(); ++i) {
    const std::string name = fmt::format("{} {}", i + 1, kTabs[i]);
    out += i == tab
               ? (has_color ? fmt::format("\x1b[7m {} \x1b[0m ", name) : fmt::format("[{}] ", name))
               : fmt::format(" {}  ", name);
  }
  return out + "\n\n";
}

int fetch(const Invocation& call, WatchPicture& picture, json& status) {
  int code = call_api(call, get("/api/v1/status"), status);
  picture.status = &status;
  const std::tuple<const char*, client::Table*> lists[] = {{"/api/v1/ports", &picture.ports},
                                                           {"/api/v1/workers", &picture.workers},
                                                           {"/api/v1/policy", &picture.policy},
                                                           {"/api/v1/drops", &picture.drops},
                                                           {"/api/v1/pools", &picture.pools}};
  for (const auto& [target, table] : lists)
    if (code == kDone) code = fetch_table(call, target, 100'000, *table);
  return code;
}

// Waits for a key or the end of the interval; 0 when there was none.
char wait_key(std::chrono::milliseconds interval) {
  pollfd p{STDIN_FILENO, POLLIN, 0};
  if (::poll(&p, 1, static_cast<int>(interval.count())) <= 0) return 0;
  char key = 0;
  return ::read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

int watch_terminal(const Invocation& call, std::chrono::milliseconds interval) {
  const RawTerminal raw;
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  const auto options = writer_options(call);
  if (!options) return fail(call, options.error());
  unsigned tab = 0;
  bool is_paused = false;
  WatchPicture picture{};
  json status;
  int code = fetch(call, picture, status);
  call.print("\x1b[?1049h\x1b[?25l");
  while (code == kDone && g_stop == 0) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size = {24, 80, 0, 0};
    const std::string text = watch_text(picture, tab, size.ws_col, size.ws_row, options->has_color);
    if (!call.print("\x1b[H" + text + (is_paused ? "paused" : "") + "\x1b[J")) break;
    const char key = wait_key(interval);
    if (key == 'q' || key == 3) break;
    if (key == 'p') is_paused = !is_paused;
    if (key >= '1' && key <= '6') tab = static_cast<unsigned>(key - '1');
    if (!is_paused && (key == 0 || key == ' ')) code = fetch(call, picture, status);
  }
  call.print("\x1b[?25h\x1b[?1049l");
  return code;
}

}  // namespace

std::string watch_text(const WatchPicture& p, unsigned tab, unsigned width, unsigned height,
                       bool has_color) {
  std::string out = head_line(*p.status, tab, has_color);
  switch (tab) {
    case 0:
      out +=
          table_lines(p.ports,
                      {"port", "link", "role", "rx_packets_per_second", "rx_bits_per_second",
                       "tx_packets_per_second", "tx_bits_per_second", "rx_dropped", "tx_dropped"},
                      {}, 8, has_color);
      out += "\n" + table_lines(p.workers,
                                {"worker", "core", "busy_ratio", "cycles_per_packet",
                                 "packets_per_second", "sessions"},
                                {}, 8, has_color);
      out += "\n" + table_lines(p.policy, {"rule", "action", "hits", "sessions", "last_hit"},
                                {"-hits"}, 6, has_color);
      out += "\n" + table_lines(p.drops, {"reason", "packets", "per_second", "last"}, {"-packets"},
                                6, has_color);
      break;
    case 1:
      out += table_lines(p.ports, {}, {}, 0, has_color);
      break;
    case 2:
      out += table_lines(p.workers, {}, {}, 0, has_color);
      break;
    case 3:
      out += table_lines(p.policy, {}, {"-hits"}, height, has_color);
      break;
    case 4:
      out += table_lines(p.drops, {}, {"-packets"}, 0, has_color);
      break;
    default:
      out += table_lines(p.pools, {}, {}, 0, has_color);
  }
  return fit(out, width, height == 0 ? 1 : height - 1);
}

int watch(const Invocation& call) {
  const auto interval = client::parse_duration_ms(call.value("--interval", "1s"));
  if (!interval || *interval < 100 || *interval > 3'600'000)
    return fail(call, {base::Errc::kInvalidValue, "--interval must be from 100ms to 1h"});
  const std::string format = call.value("--output", "table");
  if (format == "csv")
    return fail(call, {base::Errc::kInvalidValue,
                       "a picture is no list: csv can't show it",
                       {},
                       "table, json or jsonl; `merlon show` makes lists"});
  const bool is_json = format == "json" || format == "jsonl";
  const bool is_once = call.has("--once");
  if (!is_once && !is_json && call.output->is_terminal && ::isatty(STDIN_FILENO) == 1)
    return watch_terminal(call, std::chrono::milliseconds(*interval));
  for (;;) {
    json picture;
    WatchPicture tables{};
    int code =
        is_json ? call_api(call, get("/api/v1/snapshot"), picture) : fetch(call, tables, picture);
    if (code != kDone) return code;
    const std::string text = is_json ? picture.dump(format == "json" && is_once ? 2 : -1, ' ',
                                                    false, json::error_handler_t::replace) +
                                           "\n"
                                     : watch_text(tables, 0, 400, 400, false);
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text.compare(i, 3, "\x1b[K") == 0)
        i += 2;
      else
        plain += text[i];
    }
    if (!call.print(plain) || is_once) return kDone;
    ::poll(nullptr, 0, static_cast<int>(*interval));
  }
}

}  // namespace merlon::cli
