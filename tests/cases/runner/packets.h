// SPDX-License-Identifier: Apache-2.0
#pragma once
// Named packets of a case: templates to be varied, lists of fragments, partial comparison. Values,
// one thread.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/bytes.h"
#include "merlon/base/result.h"
#include "merlon/packet/build.h"

namespace merlon::cases {

using Frame = std::vector<base::Byte>;
using Layers = std::vector<packet::Layer>;

class PacketBook {
 public:
  // `let NAME = PACKET` and `let NAME = reverse PACKET`.
  base::Result<void> let(const std::string& name, std::string_view text,
                         const base::SourcePos& where);
  // `fragment NAME mtu=N [id=N] = PACKET`: $NAME[1], $NAME[2], ...
  base::Result<void> fragment(const std::string& name, unsigned mtu, std::uint32_t id,
                              std::string_view text, const base::SourcePos& where);

  // A packet in words, or $NAME with fields to change and layers to add. `$NAME[*]` gives all
  // pieces.
  [[nodiscard]] base::Result<std::vector<Frame>> frames(std::string_view text,
                                                        const base::SourcePos& where) const;
  // The same for one packet, in layers.
  [[nodiscard]] base::Result<Layers> layers(std::string_view text,
                                            const base::SourcePos& where) const;

 private:
  base::Result<Layers> variation(std::string_view text, const base::SourcePos& where) const;
  base::Result<std::string> expand_quotes(std::string_view text,
                                          const base::SourcePos& where) const;

  std::map<std::string, Layers> templates_;
  std::map<std::string, std::vector<Frame>> pieces_;
};

// Whether `frame` has all layers of `wanted`, in order, with the fields that these name; else what
// differs.
std::string compare_partly(base::ByteSpan frame, const Layers& wanted);

std::string layers_to_text(const Layers& layers);

}  // namespace merlon::cases
