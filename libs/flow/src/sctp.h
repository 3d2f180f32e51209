// SPDX-License-Identifier: Apache-2.0
#pragma once
// SCTP tracking by the first chunk and the verification tag (RFC 9260). Functions on one session;
// worker-owned. The tags live in the session's TCP columns: tcp[side].end is the tag that packets
// of `side` carry, tcp[side].max_window is 1 when it is known. Nothing is read beyond the given
// span.
#include "merlon/base/bytes.h"
#include "merlon/flow/tcp.h"

namespace merlon::flow {

// `sctp` starts at the common header. INIT opens; so does HEARTBEAT, with which a multi-homed peer
// tries a further path (RFC 9260 section 8.3).
bool sctp_may_open(base::ByteSpan sctp) noexcept;
void sctp_start(Session& s, base::ByteSpan sctp) noexcept;
TrackVerdict track_sctp(Session& s, base::ByteSpan sctp, unsigned side) noexcept;

}  // namespace merlon::flow
