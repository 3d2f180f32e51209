// SPDX-License-Identifier: Apache-2.0
#pragma once
// The daemon's API as commands use it. Every function reports failures on the invocation's messages
// and gives the exit code for them. One thread.
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "merlon/client/http_client.h"
#include "merlon/client/table.h"

namespace merlon::cli {

// From --socket, MERLON_SOCKET or /run/merlon/api.sock, and --timeout.
base::Result<client::HttpOptions> api_options(const Invocation& call);

// kDone and the answer, or the exit code after the error was told. `answer` is filled on errors
// with a JSON body too.
int call_api(const Invocation& call, const client::HttpRequest& request, nlohmann::json& answer);
// Any answer as text.
int call_text(const Invocation& call, const client::HttpRequest& request, std::string& body);

client::HttpRequest get(std::string target);
client::HttpRequest post(std::string target, const nlohmann::json& body);

// The output format asked for; kText when nothing was said.
base::Result<client::Format> wanted_format(const Invocation& call);
base::Result<client::WriterOptions> writer_options(const Invocation& call);

// A list from the API to the output as --output, --columns, --sort and --limit say.
int print_list(const Invocation& call, const std::string& target);
// The same from a table at hand.
int print_table(const Invocation& call, const client::Table& table);
// A document that is no list: `text` for a person, else JSON, JSON on one line, or CSV with one row
// whose columns are the document's fields ("effect.examined").
int print_document(const Invocation& call, const nlohmann::json& document,
                   const std::function<std::string()>& text);
// A list from the API as a table, at most `limit` rows.
int fetch_table(const Invocation& call, const std::string& target, std::size_t limit,
                client::Table& table);

// Tells an error as "merlon: error: ..." and gives its exit code.
int fail(const Invocation& call, const base::Error& error);
int exit_code_of(int http_status);

// Reads the lines of application/vnd.merlon.table+jsonl from any split of the bytes.
class TableLineReader {
 public:
  static constexpr std::size_t kMaxLine = 4 * 1024 * 1024;

  std::function<base::Result<void>(std::string_view kind, const std::vector<client::Column>&)>
      on_head;
  std::function<bool(const client::Row&)> on_row;  // false: no more rows are wanted

  // kInvalidValue when a line isn't what it should be; kRefused when on_row has stopped.
  base::Result<void> feed(std::string_view piece);
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  base::Result<void> line(std::string_view text);

  std::string pending_;
  std::size_t column_count_ = 0;
  bool has_head_ = false, has_ended_ = false;
};

}  // namespace merlon::cli
