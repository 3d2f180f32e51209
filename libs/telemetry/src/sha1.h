// SPDX-License-Identifier: Apache-2.0
#pragma once
// SHA-1 (FIPS 180-4) for Community ID only, which prescribes it; never for anything that must
// resist an attacker. Pure, no allocation; about 64 bytes per call in practice, so no state to
// carry over calls.
#include <array>

#include "merlon/base/bytes.h"

namespace merlon::telemetry {

std::array<base::Byte, 20> sha1(base::ByteSpan message) noexcept;

}  // namespace merlon::telemetry
