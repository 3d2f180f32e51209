// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "store_files.h"

namespace merlon::control {

using base::Errc;
using base::Error;
using base::Result;
namespace fs = std::filesystem;

namespace {

// Larger than any bundle with its first line; a larger file is not read.
constexpr std::uintmax_t kMaxRevisionSize = kMaxBundleSize + (1U << 20);

Result<std::string> read_file(const fs::path& path) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed || size > kMaxRevisionSize)
    return Error{.code = Errc::kIo, .message = failed ? failed.message() : "the file is too large"};
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::uintmax_t>(in.gcount()) != size)
    return Error{.code = Errc::kIo, .message = "can't be read"};
  return text;
}

// The number of "00000042.rev"; 0 when the name is another.
std::uint64_t number_of(const fs::path& path) {
  const std::string stem = path.stem().string();
  std::uint64_t n = 0;
  const auto [end, ec] = std::from_chars(stem.data(), stem.data() + stem.size(), n);
  return path.extension() == ".rev" && ec == std::errc() && end == stem.data() + stem.size() ? n
                                                                                             : 0;
}

}  // namespace

struct Store::Impl {
  std::string directory;
  StoreOptions options;
  int lock = -1;
  StoreState state;
  std::map<std::uint64_t, RevisionInfo> infos;
  std::uint64_t last = 0;  // highest number ever seen, damaged ones included
  base::Errors damage;
  bool is_state_sound = true;

  ~Impl() {
    if (lock >= 0) ::close(lock);
  }

  [[nodiscard]] std::string revision_path(std::uint64_t number) const {
    return fmt::format("{}/revisions/{:08}.rev", directory, number);
  }
  [[nodiscard]] std::string state_path() const { return directory + "/state.json"; }

  void report(const std::string& file, std::string message, std::string hint) {
    damage.push_back(Error{.code = Errc::kIo,
                           .message = std::move(message),
                           .where = {.file = file},
                           .hint = std::move(hint)});
  }

  Result<void> take_lock() {
    const std::string path = directory + "/lock";
    lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (lock < 0)
      return Error{.code = Errc::kIo,
                   .message = fmt::format("can't open \"{}\": {}", path, std::strerror(errno))};
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0)
      return Error{
          .code = Errc::kConflict,
          .message = fmt::format("another process uses the state directory \"{}\"", directory),
          .hint = "give each daemon its own state_directory"};
    return {};
  }

  void read_revisions() {
    std::error_code failed;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(directory + "/revisions", failed)) {
      const fs::path& path = entry.path();
      if (path.extension() == ".tmp") {
        fs::remove(path, failed);  // of a write that a kill ended
        continue;
      }
      const std::uint64_t number = number_of(path);
      if (number == 0) continue;
      last = std::max(last, number);
      const Result<std::string> text = read_file(path);
      Result<Revision> revision = text ? decode_revision(*text) : text.error();
      if (revision && revision->info.number != number)
        revision = Error{.code = Errc::kIo,
                         .message = fmt::format("holds revision {}", revision->info.number)};
      if (revision) {
        infos.emplace(number, std::move(revision->info));
      } else {
        report(path.string(),
               fmt::format("revision {} is damaged: {}", number, revision.error().message),
               "it is left out");
      }
    }
  }

  void read_state() {
    std::error_code failed;
    fs::remove(state_path() + ".tmp", failed);
    const bool exists = fs::exists(state_path(), failed);
    const Result<std::string> text = read_file(state_path());
    const Result<StoreState> read = text ? decode_state(*text) : text.error();
    if (read) {
      state = *read;
    } else if (exists || !infos.empty()) {
      report(state_path(),
             fmt::format("the state file is {}: {}", exists ? "damaged" : "missing",
                         read.error().message),
             "the newest revision that needs no confirmation is taken");
      state.current = newest_final(last + 1);
      is_state_sound = false;
    }
    if (state.pending && state.pending->revision != state.current) state.pending.reset();
    last = std::max(last, state.current);
    if (state.current != 0 && !infos.contains(state.current)) {
      const std::uint64_t other = newest_final(state.current);
      report(revision_path(state.current),
             fmt::format("the running revision {} is lost", state.current),
             other == 0 ? "no other is left" : fmt::format("revision {} is taken", other));
      state.current = other;
      state.pending.reset();
    }
  }

  // The newest valid revision below `below` that does not wait for a confirmation; 0: none.
  [[nodiscard]] std::uint64_t newest_final(std::uint64_t below) const {
    for (auto i = infos.rbegin(); i != infos.rend(); ++i)
      if (i->first < below && i->second.reason != "awaiting confirmation") return i->first;
    return 0;
  }

  // A kill between two writes leaves a revision that never became current, or a reason that is out
  // of date.
  void settle() {
    std::error_code failed;
    for (auto i = infos.begin(); i != infos.end();) {
      const bool is_orphan = i->first > state.current && is_state_sound;
      if (is_orphan) {
        fs::remove(revision_path(i->first), failed);
        i = infos.erase(i);
      } else {
        ++i;
      }
    }
    for (auto i = infos.begin(); i != infos.end(); ++i) {
      if (i->second.reason != "awaiting confirmation" ||
          (state.pending && state.pending->revision == i->first))
        continue;
      const auto next = std::next(i);
      const bool is_undone = next != infos.end() && next->second.reason.starts_with("rolled back");
      i->second.reason = is_undone ? "not confirmed" : "confirmed";
    }
  }

  void drop_old() {
    std::error_code failed;
    while (infos.size() > options.keep) {
      const auto oldest = std::find_if(infos.begin(), infos.end(), [&](const auto& i) {
        return i.first != state.current && !(state.pending && i.first == state.pending->previous);
      });
      if (oldest == infos.end() || oldest->first > state.current) return;
      fs::remove(revision_path(oldest->first), failed);
      infos.erase(oldest);
    }
  }
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const std::string& directory, StoreOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->directory = directory;
  impl->options = std::move(options);
  std::error_code failed;
  const bool is_new = fs::create_directories(directory, failed);
  if (!failed && is_new) fs::permissions(directory, fs::perms(0750), failed);
  if (!failed) fs::create_directory(directory + "/revisions", failed);
  if (failed)
    return Error{.code = Errc::kIo,
                 .message = fmt::format("can't create the state directory \"{}\": {}", directory,
                                        failed.message()),
                 .hint = "set state_directory to a folder that may be written"};
  if (const Result<void> locked = impl->take_lock(); !locked) return locked.error();
  impl->read_revisions();
  impl->read_state();
  impl->settle();
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

const StoreState& Store::state() const noexcept { return impl_->state; }
const base::Errors& Store::damage() const noexcept { return impl_->damage; }
std::uint64_t Store::next_number() const noexcept {
  return std::max(impl_->last, impl_->state.current) + 1;
}

std::vector<RevisionInfo> Store::history() const {
  std::vector<RevisionInfo> out;
  for (auto i = impl_->infos.rbegin(); i != impl_->infos.rend(); ++i) out.push_back(i->second);
  return out;
}

Result<std::uint64_t> Store::add(RevisionInfo info, const Bundle& bundle) {
  const std::uint64_t number = next_number();
  info.number = number;
  info.hash = bundle.hash();
  const std::string text = encode_revision({info, bundle});
  // What could not be read again (a file name that is no UTF-8) is refused now, not found damaged
  // later.
  if (const Result<Revision> again = decode_revision(text); !again) return again.error();
  const Result<void> written =
      write_durably(impl_->revision_path(number), text, impl_->options.on_step);
  if (!written) return written.error();
  impl_->last = number;
  impl_->infos.insert_or_assign(number, std::move(info));
  return number;
}

Result<void> Store::set_state(const StoreState& state) {
  Result<void> written =
      write_durably(impl_->state_path(), encode_state(state), impl_->options.on_step);
  if (!written) return written;
  impl_->state = state;
  impl_->drop_old();
  return {};
}

Result<void> Store::set_reason(std::uint64_t number, std::string reason) {
  Result<Revision> revision = read(number);
  if (!revision) return revision.error();
  revision->info.reason = std::move(reason);
  Result<void> written = write_durably(impl_->revision_path(number), encode_revision(*revision),
                                       impl_->options.on_step);
  if (written) impl_->infos.insert_or_assign(number, revision->info);
  return written;
}

Result<void> Store::remove(std::uint64_t number) {
  if (number == impl_->state.current)
    return Error{.code = Errc::kRefused,
                 .message = fmt::format("revision {} is the running one", number)};
  impl_->infos.erase(number);
  return remove_durably(impl_->revision_path(number), impl_->options.on_step);
}

Result<Revision> Store::read(std::uint64_t number) const {
  const auto known = impl_->infos.find(number);
  if (known == impl_->infos.end())
    return Error{.code = Errc::kNotFound,
                 .message = fmt::format("there is no revision {}", number),
                 .hint = "`merlon config history` lists them"};
  const Result<std::string> text = read_file(impl_->revision_path(number));
  Result<Revision> revision = text ? decode_revision(*text) : text.error();
  if (!revision)
    return Error{
        .code = Errc::kIo,
        .message = fmt::format("revision {} is damaged: {}", number, revision.error().message)};
  revision->info = known->second;
  return revision;
}

}  // namespace merlon::control
