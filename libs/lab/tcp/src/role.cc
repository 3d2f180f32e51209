// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/role.h"

#include "merlon/base/hash.h"

namespace merlon::lab::tcp {

StackSettings stack_settings(const TcpLoadSpec& spec, const base::MacAddress& mac) {
  StackSettings s;
  s.mac = mac;
  s.mss = spec.mss;
  s.window = spec.window;
  s.initial_window = spec.initial_window;
  s.retries = spec.retries;
  s.initial_timeout_us = static_cast<std::uint32_t>(spec.initial_timeout_s * 1e6);
  s.minimum_timeout_us = static_cast<std::uint32_t>(spec.minimum_timeout_s * 1e6);
  s.ack_delay = static_cast<base::Nanos>(spec.ack_delay_s * 1e9);
  s.secret = base::fold_multiply(spec.seed + 0x9e3779b97f4a7c15ULL, 0xd1b54a32d192ed03ULL);
  return s;
}

Role::Role(io::Port& port, const base::MacAddress& mac, const TcpLoadSpec& spec,
           const AddressPool& ours, const MessageBook& book, base::Region table,
           std::uint32_t table_size, bool are_checksums_verified)
    : port_(port),
      book_(book),
      ours_(ours),
      mac_(mac),
      are_checksums_verified_(are_checksums_verified),
      memory_(std::move(table)),
      table_(memory_.as<Connection>(), table_size),
      size_(table_size),
      out_(port),
      stack_(stack_settings(spec, mac_), book, out_),
      burst_(std::make_unique<packet::Burst>()) {}

void Role::use_tls(std::unique_ptr<TlsContext> context) {
  tls_ = std::move(context);
  channels_ = std::make_unique<TlsChannel[]>(size_);
  burst_limit_ = kTlsBurst;
}

bool Role::open_tls(Connection& c) noexcept {
  TlsChannel& channel = channels_[index_of(c)];
  if (!channel.open(*tls_)) return false;
  c.tls = &channel;
  return true;
}

void Role::close_tls(Connection& c) noexcept {
  if (c.tls == nullptr) return;
  c.tls->close();
  c.tls = nullptr;
}

void Role::announce() noexcept {
  send_arp(ArpMessage::kRequest, ours_.first, {}, ours_.first);
  out_.flush();
}

void Role::send_arp(std::uint16_t operation, std::uint32_t our_ip, const base::MacAddress& to,
                    std::uint32_t target_ip) noexcept {
  base::Byte* frame = out_.begin(kMinimumFrame);
  if (frame == nullptr) return;
  out_.end(write_arp(frame, operation, mac_, our_ip, to, target_ip));
}

void Role::answer_arp(const ArpMessage& arp) noexcept {
  if (arp.sender_mac == mac_) return;
  if (next_hop_ip_ != 0 && arp.sender_ip == next_hop_ip_) {
    next_hop_mac_ = arp.sender_mac;
    has_next_hop_ = true;
  }
  if (arp.operation == ArpMessage::kRequest && ours_.contains(arp.target_ip) &&
      arp.sender_ip != arp.target_ip)
    send_arp(ArpMessage::kReply, arp.target_ip, arp.sender_mac, arp.sender_ip);
}

}  // namespace merlon::lab::tcp
