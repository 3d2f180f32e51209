// SPDX-License-Identifier: Apache-2.0
// The only source that includes Beast and Asio: it takes half a minute to compile, so nothing else
// belongs here.
#include "merlon/control/api_server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <set>
#include <thread>

#include "merlon/base/log.h"
#include "merlon/client/http_client.h"

namespace merlon::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::local::stream_protocol;
using base::Errc;
using base::Error;
using boost::system::error_code;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

using Stream = beast::basic_stream<stream_protocol, asio::io_context::executor_type>;
using Parser = http::request_parser<http::string_body>;

Error io_error(std::string_view what, const std::string& path, int problem) {
  return {Errc::kIo, fmt::format("{} {}: {}", what, path, std::strerror(problem))};
}

std::string peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return "unknown";
  return fmt::format("uid {}", credentials.uid);
}

ApiAnswer refusal(int status, Error error) {
  ApiAnswer answer = ApiAnswer::error(error);
  answer.status = status;
  return answer;
}

// Collects what a table writer gives, to be sent as one chunk.
std::string table_text(const client::Table& table, client::Format format) {
  client::WriterOptions options;
  options.format = format;
  std::string out;
  // Without names of columns there is nothing that could be refused.
  static_cast<void>(client::write_table(table, options, [&out](std::string_view piece) {
    out += piece;
    return true;
  }));
  return out;
}

// One request on its way.
struct Exchange {
  Parser parser;
  ApiRequest request;
  ApiAnswer answer;
  const Route* route = nullptr;
  bool is_broken = false;  // nothing can be sent any more
};

// Held while a large body or a slow handler is around.
struct Slot {
  std::size_t& count;
  bool is_held;
  Slot(std::size_t& c, bool held) : count(c), is_held(held) { count += held ? 1 : 0; }
  ~Slot() { count -= is_held ? 1 : 0; }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
};

}  // namespace

// A peer that is connected. API thread only.
struct Connection {
  Stream& stream;
  // It owes us bytes: nothing of a request yet, or not the rest of it.
  bool is_awaited = true;
  bool is_ending = false;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

struct ApiServer::Impl {
  ApiServerOptions options;
  const ApiRouter& router;
  asio::io_context context{1};
  stream_protocol::acceptor acceptor{context};
  std::unique_ptr<asio::thread_pool> slow_pool;
  std::set<asio::steady_timer*> timers;  // API thread only
  std::set<Connection*> open;            // API thread only
  std::atomic<std::size_t> connections{0};
  std::size_t slow_requests = 0;  // API thread only
  bool is_stopping = false;       // API thread only
  bool is_running = false;
  dev_t device = 0;
  ino_t inode = 0;
  std::thread thread;

  Impl(ApiServerOptions o, const ApiRouter& r) : options(std::move(o)), router(r) {}

  base::Result<void> make_way() const;
  base::Result<void> bind();
  asio::awaitable<void> accept_loop();
  bool make_room();
  asio::awaitable<void> serve(Stream stream);
  asio::awaitable<bool> serve_one(Connection& connection, beast::flat_buffer& buffer,
                                  const std::string& peer);
  asio::awaitable<void> read_head(Stream& stream, beast::flat_buffer& buffer, Exchange& exchange);
  asio::awaitable<bool> read_body(Stream& stream, beast::flat_buffer& buffer, Exchange& exchange);
  asio::awaitable<void> run_slow(Exchange& exchange);
  asio::awaitable<bool> send(Stream& stream, const ApiRequest& request, ApiAnswer& answer,
                             bool keep_alive);
  asio::awaitable<bool> send_text(Stream& stream, const ApiAnswer& answer, const ApiText& text,
                                  bool keep_alive);
  asio::awaitable<bool> send_head(Stream& stream, const ApiAnswer& answer, std::string_view type,
                                  bool keep_alive);
  asio::awaitable<bool> send_chunk(Stream& stream, std::string_view bytes);
  asio::awaitable<bool> send_last_chunk(Stream& stream);
  asio::awaitable<bool> send_table(Stream& stream, ApiTableStream& table, client::Format format);
  asio::awaitable<bool> send_events(Stream& stream, ApiEventStream& events);
};

// Removes a socket file that nobody answers on.
base::Result<void> ApiServer::Impl::make_way() const {
  const std::string& path = options.socket_path;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0)
    return errno == ENOENT ? base::Result<void>() : io_error("can't look at", path, errno);
  if (!S_ISSOCK(info.st_mode))
    return Error{Errc::kRefused,
                 fmt::format("{} is not a socket", path),
                 {},
                 "choose another api.socket, or remove the file"};
  stream_protocol::socket probe(const_cast<asio::io_context&>(context));
  error_code problem;
  probe.connect(stream_protocol::endpoint(path), problem);
  if (!problem || problem == asio::error::try_again || problem == asio::error::would_block)
    return Error{Errc::kConflict,
                 fmt::format("another daemon answers on {}", path),
                 {},
                 "stop it, or choose another api.socket"};
  if (problem != asio::error::connection_refused)
    return io_error("can't try", path, problem.value());
  if (::unlink(path.c_str()) != 0) return io_error("can't remove the stale socket", path, errno);
  base::log(base::LogLevel::kWarning, "api", "removed a stale socket path={}", path);
  return {};
}

base::Result<void> ApiServer::Impl::bind() {
  const std::string& path = options.socket_path;
  if (path.empty() || path.size() > 107)
    return Error{Errc::kInvalidValue,
                 fmt::format("socket path \"{}\" must have 1 to 107 bytes", path)};
  if (auto clear = make_way(); !clear) return clear;
  error_code problem;
  acceptor.open(stream_protocol(), problem);
  if (problem) return io_error("can't open a socket for", path, problem.value());
  // On Linux the file gets the socket's mode, less the umask, so it is never wider open than in the
  // end.
  ::fchmod(acceptor.native_handle(), options.mode);
  acceptor.bind(stream_protocol::endpoint(path), problem);
  if (problem) return io_error("can't bind", path, problem.value());
  struct stat info {};
  if (::chmod(path.c_str(), options.mode) != 0 || ::lstat(path.c_str(), &info) != 0)
    return io_error("can't set the mode of", path, errno);
  device = info.st_dev;
  inode = info.st_ino;
  acceptor.listen(1024, problem);
  if (problem) return io_error("can't listen on", path, problem.value());
  return {};
}

asio::awaitable<void> ApiServer::Impl::accept_loop() {
  asio::steady_timer pause(context);
  while (acceptor.is_open()) {
    stream_protocol::socket raw(context);
    auto [problem] = co_await acceptor.async_accept(raw, kToken);
    if (problem == asio::error::operation_aborted || !acceptor.is_open()) co_return;
    if (problem) {
      // Out of descriptors, most likely: try again when others have gone.
      pause.expires_after(std::chrono::milliseconds(50));
      co_await pause.async_wait(kToken);
      continue;
    }
    Stream stream(context.get_executor());
    stream.socket() =
        beast::basic_stream<stream_protocol, asio::io_context::executor_type>::socket_type(
            context.get_executor(), stream_protocol(), raw.release());
    asio::co_spawn(context, serve(std::move(stream)), asio::detached);
  }
}

// Ends the connection that has been silent or slow for the longest, so that those who hold many
// can't keep others out; false when all are being answered.
bool ApiServer::Impl::make_room() {
  Connection* oldest = nullptr;
  for (Connection* c : open)
    if (c->is_awaited && !c->is_ending && (oldest == nullptr || c->since < oldest->since))
      oldest = c;
  if (oldest == nullptr) return false;
  oldest->is_ending = true;
  oldest->stream.cancel();
  return true;
}

asio::awaitable<void> ApiServer::Impl::serve(Stream stream) {
  Connection connection{.stream = stream};
  const std::size_t now = connections.fetch_add(1) + 1;
  const std::string peer = peer_of(stream.socket().native_handle());
  beast::flat_buffer buffer(options.max_head_bytes + 65536);
  const bool has_room = now <= options.max_connections || make_room();
  open.insert(&connection);
  if (!has_room) {
    ApiAnswer full = refusal(503, {Errc::kCapacity,
                                   fmt::format("more than {} connections", options.max_connections),
                                   {},
                                   "try again later"});
    const ApiRequest none{};
    co_await send(stream, none, full, false);
  } else {
    while (!is_stopping && !connection.is_ending && co_await serve_one(connection, buffer, peer)) {
      connection.is_awaited = true;
      connection.since = std::chrono::steady_clock::now();
    }
  }
  // Let the peer read the answer before the reset that unread bytes would cause.
  error_code ignored;
  stream.socket().shutdown(stream_protocol::socket::shutdown_send, ignored);
  open.erase(&connection);
  connections.fetch_sub(1);
}

// Reads a head and finds its route; without one the exchange has the answer, or is broken.
asio::awaitable<void> ApiServer::Impl::read_head(Stream& stream, beast::flat_buffer& buffer,
                                                 Exchange& exchange) {
  exchange.parser.header_limit(static_cast<std::uint32_t>(options.max_head_bytes));
  exchange.parser.body_limit(boost::none);  // the route has not been found yet; see read_body()
  stream.expires_after(options.idle_timeout);
  auto [problem, size] = co_await http::async_read_header(stream, buffer, exchange.parser, kToken);
  static_cast<void>(size);
  if (problem) {
    exchange.is_broken = problem == http::error::end_of_stream ||
                         problem.category() != make_error_code(http::error::bad_method).category();
    const bool is_long =
        problem == http::error::header_limit || problem == http::error::buffer_overflow;
    exchange.answer =
        refusal(is_long ? 431 : 400,
                {Errc::kInvalidValue, is_long ? "the head is too long" : "this is not HTTP"});
    co_return;
  }
  const auto& head = exchange.parser.get();
  ApiRequest& request = exchange.request;
  request.method = std::string(head.method_string());
  request.accept = std::string(head[http::field::accept]);
  request.if_match = std::string(head[http::field::if_match]);
  request.content_type = std::string(head[http::field::content_type]);
  if (auto done = set_target(request, std::string_view(head.target())); !done) {
    exchange.answer = ApiAnswer::error(done.error());
  } else {
    exchange.route = router.find(request, exchange.answer);
  }
}

// Reads the body within the route's limit; false when the exchange is broken or has its answer
// already.
asio::awaitable<bool> ApiServer::Impl::read_body(Stream& stream, beast::flat_buffer& buffer,
                                                 Exchange& exchange) {
  const std::size_t limit = exchange.route->cost == RouteCost::kSlow ? options.max_slow_body_bytes
                                                                     : options.max_body_bytes;
  const auto length = exchange.parser.content_length();
  if (length && *length > limit) {
    exchange.answer = refusal(413, {Errc::kCapacity, "the body is too large"});
    co_return false;
  }
  exchange.parser.body_limit(limit);  // for chunked bodies
  if (exchange.parser.get()[http::field::expect] == "100-continue") {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    stream.expires_after(options.write_timeout);
    auto [problem, sent] = co_await http::async_write(stream, go_on, kToken);
    static_cast<void>(sent);
    exchange.is_broken = problem.failed();
    if (problem) co_return false;
  }
  stream.expires_after(options.read_timeout);
  auto [problem, size] = co_await http::async_read(stream, buffer, exchange.parser, kToken);
  static_cast<void>(size);
  if (problem == http::error::body_limit) {
    exchange.answer = refusal(413, {Errc::kCapacity, "the body is too large"});
    co_return false;
  }
  exchange.is_broken = problem.failed();
  exchange.request.body = std::move(exchange.parser.get().body());
  co_return !problem.failed();
}

// Reads one request and answers it; false when the connection is to end.
asio::awaitable<bool> ApiServer::Impl::serve_one(Connection& connection, beast::flat_buffer& buffer,
                                                 const std::string& peer) {
  Stream& stream = connection.stream;
  Exchange exchange;
  exchange.request.peer = peer;
  co_await read_head(stream, buffer, exchange);
  if (exchange.is_broken) co_return false;
  if (exchange.route == nullptr) {
    co_await send(stream, exchange.request, exchange.answer, false);
    co_return false;
  }
  const bool is_slow = exchange.route->cost == RouteCost::kSlow;
  if (is_slow && slow_requests >= options.max_slow_requests) {
    exchange.answer = refusal(503, {Errc::kCapacity,
                                    "other configuration requests are being worked on",
                                    {},
                                    "try again later"});
    co_await send(stream, exchange.request, exchange.answer, false);
    co_return false;
  }
  const Slot slot(slow_requests, is_slow);
  const bool is_read = co_await read_body(stream, buffer, exchange);
  connection.is_awaited = false;
  if (exchange.is_broken) co_return false;
  bool keep_alive = false;
  if (is_read) {
    keep_alive = exchange.parser.get().keep_alive();
    stream.expires_never();
    if (is_slow) {
      co_await run_slow(exchange);
    } else {
      exchange.answer = ApiRouter::run(*exchange.route, exchange.request);
    }
    if (is_stopping) co_return false;
  }
  co_return co_await send(stream, exchange.request, exchange.answer, keep_alive);
}

asio::awaitable<void> ApiServer::Impl::run_slow(Exchange& exchange) {
  auto executor = slow_pool->get_executor();
  co_await asio::co_spawn(
      executor,
      [&exchange]() -> asio::awaitable<void> {
        exchange.answer = ApiRouter::run(*exchange.route, exchange.request);
        co_return;
      },
      asio::use_awaitable);
}

asio::awaitable<bool> ApiServer::Impl::send(Stream& stream, const ApiRequest& request,
                                            ApiAnswer& answer, bool keep_alive) {
  const client::Format format = client::format_from_accept(request.accept);
  if (auto* table = std::get_if<client::Table>(&answer.content)) {
    const ApiText text{std::string(client::content_type(format)), table_text(*table, format)};
    co_return co_await send_text(stream, answer, text, keep_alive);
  }
  if (auto* text = std::get_if<ApiText>(&answer.content))
    co_return co_await send_text(stream, answer, *text, keep_alive);
  if (auto* table = std::get_if<ApiTableStream>(&answer.content)) {
    const bool is_sent =
        co_await send_head(stream, answer, client::content_type(format), keep_alive);
    if (!is_sent) co_return false;
    const bool is_whole = co_await send_table(stream, *table, format);
    co_return is_whole&& keep_alive;
  }
  const bool is_sent = co_await send_head(stream, answer, "text/event-stream", false);
  if (is_sent) co_await send_events(stream, std::get<ApiEventStream>(answer.content));
  co_return false;
}

namespace {

template <class Response>
void set_headers(Response& response, const ApiAnswer& answer, std::string_view type,
                 bool keep_alive) {
  response.version(11);
  response.result(static_cast<unsigned>(answer.status));
  response.set(http::field::server, "merlon");
  response.set(http::field::content_type, beast::string_view(type.data(), type.size()));
  response.set(http::field::cache_control, "no-store");
  for (const auto& [name, value] : answer.headers) response.set(name, value);
  response.keep_alive(keep_alive);
}

}  // namespace

asio::awaitable<bool> ApiServer::Impl::send_text(Stream& stream, const ApiAnswer& answer,
                                                 const ApiText& text, bool keep_alive) {
  http::response<http::span_body<const char>> response;
  set_headers(response, answer, text.content_type, keep_alive);
  response.body() = {text.body.data(), text.body.size()};
  response.prepare_payload();
  stream.expires_after(options.write_timeout);
  auto [problem, sent] = co_await http::async_write(stream, response, kToken);
  static_cast<void>(sent);
  co_return !problem && keep_alive;
}

asio::awaitable<bool> ApiServer::Impl::send_head(Stream& stream, const ApiAnswer& answer,
                                                 std::string_view type, bool keep_alive) {
  http::response<http::empty_body> response;
  set_headers(response, answer, type, keep_alive);
  response.chunked(true);
  http::response_serializer<http::empty_body> serializer(response);
  stream.expires_after(options.write_timeout);
  auto [problem, sent] = co_await http::async_write_header(stream, serializer, kToken);
  static_cast<void>(sent);
  co_return !problem;
}

asio::awaitable<bool> ApiServer::Impl::send_chunk(Stream& stream, std::string_view bytes) {
  if (bytes.empty()) co_return true;  // an empty chunk would end the body
  stream.expires_after(options.write_timeout);
  const asio::const_buffer body(bytes.data(), bytes.size());
  auto [problem, sent] = co_await asio::async_write(stream, http::make_chunk(body), kToken);
  static_cast<void>(sent);
  co_return !problem;
}

asio::awaitable<bool> ApiServer::Impl::send_last_chunk(Stream& stream) {
  stream.expires_after(options.write_timeout);
  auto [problem, sent] = co_await asio::async_write(stream, http::make_chunk_last(), kToken);
  static_cast<void>(sent);
  co_return !problem;
}

asio::awaitable<bool> ApiServer::Impl::send_table(Stream& stream, ApiTableStream& table,
                                                  client::Format format) {
  std::string piece;
  client::WriterOptions writer_options;
  writer_options.format = format;
  writer_options.limit = table.limit;
  client::TableWriter writer(writer_options, [&piece](std::string_view text) {
    piece += text;
    return true;
  });
  if (!writer.begin(table.head.kind, table.head.columns)) co_return false;
  std::vector<client::Row> rows;
  bool is_wanted = true;
  while (is_wanted && !is_stopping && table.source(rows)) {
    for (const client::Row& row : rows) {
      is_wanted = writer.row(row);
      if (!is_wanted) break;
    }
    const bool is_sent = co_await send_chunk(stream, piece);
    if (!is_sent) co_return false;
    piece.clear();
    // Others get their turn even when this reader takes everything at once.
    co_await asio::post(context, asio::use_awaitable);
  }
  if (is_stopping) co_return false;  // no last chunk: the reader sees that the list is cut short
  writer.end();
  const bool is_sent = co_await send_chunk(stream, piece);
  if (!is_sent) co_return false;
  co_return co_await send_last_chunk(stream);
}

asio::awaitable<bool> ApiServer::Impl::send_events(Stream& stream, ApiEventStream& events) {
  asio::steady_timer timer(context);
  auto last_sent = std::chrono::steady_clock::now();
  while (!is_stopping) {
    std::optional<std::string> text = events.next();
    if (!text) break;
    const auto now = std::chrono::steady_clock::now();
    if (text->empty() && now - last_sent > std::chrono::seconds(10)) *text = ": alive\n\n";
    if (!text->empty()) {
      const bool is_sent = co_await send_chunk(stream, *text);
      if (!is_sent) co_return false;
      last_sent = now;
    }
    // stop() may have come while the text was being sent; it wakes only timers that are waiting by
    // then.
    if (is_stopping) break;
    timer.expires_after(events.interval);
    timers.insert(&timer);
    co_await timer.async_wait(kToken);
    timers.erase(&timer);
    // A reader that has gone is noticed here, not only at the next message.
    char byte = 0;
    const ssize_t got = ::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0) co_return false;
  }
  co_return co_await send_last_chunk(stream);
}

ApiServer::ApiServer(ApiServerOptions options, const ApiRouter& router)
    : impl_(std::make_unique<Impl>(std::move(options), router)) {}

ApiServer::~ApiServer() { stop(); }

base::Result<void> ApiServer::start() {
  if (auto bound = impl_->bind(); !bound) return bound;
  impl_->slow_pool = std::make_unique<asio::thread_pool>(1);
  if (impl_->options.on_slow_thread) asio::post(*impl_->slow_pool, impl_->options.on_slow_thread);
  impl_->is_running = true;
  asio::co_spawn(impl_->context, impl_->accept_loop(), asio::detached);
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
  base::log(base::LogLevel::kInfo, "api", "listening socket={}", impl_->options.socket_path);
  return {};
}

void ApiServer::stop() {
  if (!impl_->is_running) return;
  impl_->is_running = false;
  asio::post(impl_->context, [impl = impl_.get()] {
    impl->is_stopping = true;
    error_code ignored;
    impl->acceptor.close(ignored);
    for (asio::steady_timer* timer : impl->timers) timer->cancel();
    for (Connection* connection : impl->open)
      connection->stream.socket().shutdown(stream_protocol::socket::shutdown_both, ignored);
  });
  // The loop ends by itself when every connection's coroutine has: timers of event streams run out
  // first.
  impl_->thread.join();
  impl_->slow_pool->join();
  // Only our own file: another daemon may have taken the path after someone removed it.
  struct stat info {};
  const std::string& path = impl_->options.socket_path;
  if (::lstat(path.c_str(), &info) == 0 && info.st_dev == impl_->device &&
      info.st_ino == impl_->inode)
    ::unlink(path.c_str());
}

std::size_t ApiServer::connection_count() const noexcept { return impl_->connections.load(); }

}  // namespace merlon::control
