// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <algorithm>
#include <array>

#include "format.h"

namespace merlon::lab::report {

Text same(std::string_view text) { return {std::string(text), std::string(text)}; }

const std::string& russian(const Text& text) { return text.ru.empty() ? text.en : text.ru; }

const std::string& in_language(const Text& text, Language language) {
  return language == Language::kRussian ? russian(text) : text.en;
}

Text joined(const Text& left, const Text& right) {
  return {left.en + right.en, russian(left) + russian(right)};
}

Text noun(std::uint64_t n, const Noun& noun) {
  const std::uint64_t last = n % 10, last_two = n % 100;
  const bool is_teen = last_two >= 11 && last_two <= 14;
  const bool is_one = last == 1 && !is_teen, is_few = last >= 2 && last <= 4 && !is_teen;
  return {n == 1 ? noun.one : noun.many, is_one   ? noun.ru_one
                                         : is_few ? noun.ru_few
                                                  : noun.ru_many};
}

Text counted(std::uint64_t n, const Noun& of) {
  return joined(same(grouped(n) + "\u00a0"), noun(n, of));
}

Text title_of(const Row& row) { return row.title.en.empty() ? same(row.id) : row.title; }
Text title_of(const Run& run) { return run.title.en.empty() ? same(run.plan) : run.title; }

Text driver_mode(const DeviceSpec& device) {
  const Text driver = word_title(device.driver);
  return device.mode.empty() ? driver : joined(joined(driver, same(" ")), word_title(device.mode));
}

Text device_label(const DeviceSpec& device) {
  Text out = device.driver.empty() ? same("\u2013") : driver_mode(device);
  if (device.rules != 0) out = joined(joined(out, same(", ")), counted(device.rules, kRules));
  if (!device.place.empty() && device.place != "host")
    out = joined(joined(out, same(" @")), word_title(device.place));
  return out;
}

Text traffic_label(const TrafficSpec& traffic) {
  if (!traffic.capture.empty())
    return joined({"replay ", "воспроизведение "}, same(traffic.capture));
  std::string frames = traffic.sizes;
  if (!frames.empty() && frames.find_first_not_of("0123456789") == std::string::npos)
    frames += "\u00a0B";
  Text out = same(frames + " " + traffic.protocol);
  const auto add = [&](const Text& text) { out = joined(joined(out, same(", ")), text); };
  if (traffic.flows > 1) add(counted(traffic.flows, kFlows));
  if (traffic.ipv6_share >= 1) add(same("IPv6"));
  if (traffic.ipv6_share > 0 && traffic.ipv6_share < 1)
    add(same("IPv6 " + quantity(traffic.ipv6_share, Unit::kRatio)));
  if (traffic.source_mac.count > 1 || traffic.destination_mac.count > 1)
    add({"varied MAC", "разные MAC"});
  if (traffic.is_bidirectional) add({"both ways", "в обе стороны"});
  if (traffic.pacing == Pacing::kBurst)
    add(joined({"bursts of ", "всплески по "}, same(std::to_string(traffic.burst_frames))));
  if (traffic.pacing == Pacing::kSteps) add({"rate in steps", "частота ступенями"});
  if (traffic.attack_pps > 0)
    add(joined({"attack ", "атака "}, same(quantity(traffic.attack_pps, Unit::kPps))));
  return out;
}

namespace {

struct Word {
  std::string_view name;
  const char *en, *ru;
};

constexpr std::array kWords{
    // Drivers and their modes; other modes are terms.
    Word{"null", "cable", "кабель"},
    Word{"bridge", "Linux bridge", "мост Linux"},
    Word{"ovs", "Open vSwitch", "Open vSwitch"},
    Word{"ovs-dpdk", "Open vSwitch DPDK", "Open vSwitch DPDK"},
    Word{"merlon", "Merlon", "Merlon"},
    Word{"external", "external", "внешнее"},
    Word{"linear", "linear", "подряд"},
    Word{"set", "set", "множеством"},
    Word{"openflow", "OpenFlow", "OpenFlow"},
    Word{"routed-ct", "connection tracking", "с отслеживанием соединений"},
    // Places and ways.
    Word{"host", "host", "хост"},
    Word{"namespace", "namespace", "пространство имён"},
    Word{"guest", "guest", "гость"},
    Word{"vm", "virtual machine", "виртуальная машина"},
    Word{"direct", "direct", "напрямую"},
    Word{"chain3", "behind two bridges", "за двумя мостами"},
    Word{"gen", "generator", "генератор"},
    Word{"generator", "generator", "генератор"},
    Word{"snk", "sink", "приёмник"},
    Word{"sink", "sink", "приёмник"},
    // Functions of a device.
    Word{"sessions", "sessions", "сессии"},
    Word{"ddos", "DDoS measurement", "измерение DDoS"},
    Word{"detection", "detection", "обнаружение"},
    Word{"both", "DDoS measurement and detection", "измерение DDoS и обнаружение"},
    Word{"offload", "off-load", "аппаратная разгрузка"},
    // Who works.
    Word{"tester", "tester", "тестер"},
    Word{"device", "device", "устройство"},
    Word{"kernel", "kernel", "ядро ОС"},
    Word{"sender", "sender", "передатчик"},
    Word{"receiver", "receiver", "приёмник"},
    Word{"before", "before", "до"},
    Word{"after", "after", "после"},
    // Fields of the environment.
    Word{"plan", "plan", "план"},
    Word{"machine", "machine", "машина"},
    Word{"cpu", "processor", "процессор"},
    Word{"cores", "cores", "ядра процессора"},
    Word{"distribution", "distribution", "дистрибутив"},
    Word{"clock source", "clock source", "источник времени"},
    Word{"virtualization", "virtualization", "виртуализация"},
    Word{"noise grade", "noise grade", "класс шума"},
    Word{"none", "none", "нет"},
};

// Words that others follow: "version nft", "mitigation meltdown".
constexpr std::array kHeads{
    Word{"version ", "version ", "версия "},
    Word{"mitigation ", "mitigation ", "мера против "},
    Word{"pinning ", "pinning ", "привязка: "},
    Word{"device configuration of ", "device configuration of ", "конфигурация устройства: "},
    Word{"path", "path ", "путь "},
};

}  // namespace

Text word_title(std::string_view word) {
  const auto known =
      std::find_if(kWords.begin(), kWords.end(), [&](const Word& w) { return w.name == word; });
  if (known != kWords.end()) return {known->en, known->ru};
  for (const Word& head : kHeads)
    if (word.starts_with(head.name) && word.size() > head.name.size())
      return joined({head.en, head.ru}, word_title(word.substr(head.name.size())));
  return same(word);
}

std::string_view stamp_name(Stamp stamp) noexcept {
  switch (stamp) {
    case Stamp::kClean:
      return "clean";
    case Stamp::kTesterLimited:
      return "tester-limited";
    case Stamp::kContaminated:
      return "contaminated";
    case Stamp::kFailed:
      return "failed";
  }
  return "failed";
}

Text stamp_title(Stamp stamp) {
  switch (stamp) {
    case Stamp::kClean:
      return {"clean", "чисто"};
    case Stamp::kTesterLimited:
      return {"tester-limited", "предел тестера"};
    case Stamp::kContaminated:
      return {"contaminated", "загрязнено"};
    case Stamp::kFailed:
      return {"failed", "сбой"};
  }
  return {"failed", "сбой"};
}

std::string_view state_name(RowState state) noexcept {
  switch (state) {
    case RowState::kPending:
      return "pending";
    case RowState::kDone:
      return "done";
    case RowState::kSkipped:
      return "skipped";
    case RowState::kFailed:
      return "failed";
    case RowState::kUnavailable:
      return "unavailable";
  }
  return "failed";
}

Text state_title(RowState state) {
  switch (state) {
    case RowState::kPending:
      return {"pending", "не начато"};
    case RowState::kDone:
      return {"done", "готово"};
    case RowState::kSkipped:
      return {"skipped", "пропущено"};
    case RowState::kFailed:
      return {"failed", "сбой"};
    case RowState::kUnavailable:
      return {"not available", "недоступно"};
  }
  return {"failed", "сбой"};
}

Text verdict_title(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return {"same", "так же"};
    case Verdict::kBetter:
      return {"better", "лучше"};
    case Verdict::kWorse:
      return {"worse", "хуже"};
    case Verdict::kUnclear:
      return {"unclear", "неясно"};
  }
  return {"unclear", "неясно"};
}

Verdict verdict_of(std::string_view word) noexcept {
  if (word == "better") return Verdict::kBetter;
  if (word == "worse") return Verdict::kWorse;
  return word == "same" ? Verdict::kSame : Verdict::kUnclear;
}

Text finding_title(std::string_view state) {
  if (state == "reproduced") return {"reproduced", "воспроизведено"};
  if (state == "differs") return {"differs", "расходится"};
  if (state == "not_available") return {"not available", "недоступно"};
  if (state == "disturbed") return {"told under disturbance", "под помехами"};
  if (state == "pass") return {"pass", "соблюдено"};
  if (state == "fail") return {"fail", "нарушено"};
  return same(state);
}

}  // namespace merlon::lab::report
