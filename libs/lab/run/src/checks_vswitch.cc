// SPDX-License-Identifier: Apache-2.0
// The findings of the study of virtual switches, checked on this run's data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checks.h"

namespace merlon::lab {

namespace {

std::string percent(double ratio) { return fmt::format("{:.3g} %", ratio * 100); }

// Rows of one configuration in order of their rates; rows added later included.
std::vector<const Row*> curve(const Run& run, const std::string& start) {
  std::vector<const Row*> rows = rows_of(run, start);
  std::erase_if(rows, [](const Row* row) {
    return !kpi_of(*row, "loss_ratio") || !kpi_of(*row, "offered_pps");
  });
  std::sort(rows.begin(), rows.end(),
            [](const Row* a, const Row* b) { return a->rate_pps < b->rate_pps; });
  return rows;
}

constexpr double kLossStarts = 0.01;

struct Knee {
  const Row* last_whole = nullptr;
  const Row* first_lossy = nullptr;
};

Knee knee_of(const Run& run, const std::string& start) {
  Knee knee;
  for (const Row* row : curve(run, start)) {
    if (*kpi_of(*row, "loss_ratio") <= kLossStarts) {
      if (knee.first_lossy == nullptr) knee.last_whole = row;
    } else if (knee.first_lossy == nullptr) {
      knee.first_lossy = row;
    }
  }
  return knee;
}

void delay_bends(const Run& run, Finding& finding) {
  std::string en, ru;
  unsigned bends = 0, all = 0;
  for (const char* id : {"host.ovs.", "host.of1.", "host.of100.", "host.of1000.", "guest.ovs.",
                         "guest.of1000.", "host.bridge."}) {
    const Knee knee = knee_of(run, id);
    if (knee.last_whole == nullptr || knee.first_lossy == nullptr) continue;
    const auto before = kpi_of(*knee.last_whole, "latency_p50_us");
    const auto after = kpi_of(*knee.first_lossy, "latency_p50_us");
    if (!before || !after || *before <= 0) continue;
    ++all;
    bends += *after > 3 * *before ? 1U : 0U;
    const std::string name(id, std::string_view(id).size() - 1);
    en +=
        fmt::format("{}{}: {:.0f} -> {:.0f} us between {} and {}pps", en.empty() ? "" : "; ", name,
                    *before, *after, si(knee.last_whole->rate_pps), si(knee.first_lossy->rate_pps));
    ru +=
        fmt::format("{}{}: {:.0f} -> {:.0f} мкс между {}pps и {}pps", ru.empty() ? "" : "; ", name,
                    *before, *after, si(knee.last_whole->rate_pps), si(knee.first_lossy->rate_pps));
  }
  if (all == 0) return not_available(run, finding, "host.");
  finding.state = 2 * bends > all ? "reproduced" : "differs";
  finding.evidence = {en, ru};
  if (finding.state == "differs") {
    finding.evidence.en +=
        ". A device that runs in the sender's time has no queue in which frames could wait: it "
        "slows "
        "the sender down, and what was not sent counts as loss";
    finding.evidence.ru +=
        ". У устройства, работающего во времени отправителя, нет очереди, где кадры могли бы "
        "ждать: "
        "оно замедляет отправителя, и неотправленное считается потерей";
  }
}

void openflow_in_guest(const Run& run, Finding& finding) {
  const auto rows = curve(run, "guest.of");
  if (rows.empty()) return not_available(run, finding, "guest.of");
  const Row* worst = *std::max_element(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return *kpi_of(*a, "loss_ratio") < *kpi_of(*b, "loss_ratio");
  });
  const double loss = *kpi_of(*worst, "loss_ratio");
  const double p99_ms = kpi_of(*worst, "intended_p99_us").value_or(0) / 1e3;
  const bool loses = loss > 0.5, waits = p99_ms > 100;
  finding.state = loses && waits ? "reproduced" : "differs";
  finding.evidence = {fmt::format("{}: loss {} and p99 {:.1f} ms from the intended time at {}pps",
                                  worst->id, percent(loss), p99_ms, si(worst->rate_pps)),
                      fmt::format("{}: потери {}, p99 от намеченного времени {:.1f} мс при {}pps",
                                  worst->id, percent(loss), p99_ms, si(worst->rate_pps))};
  if (finding.state == "reproduced") return;
  finding.evidence.en += fmt::format(
      ". {}The guest is a namespace here: neither an emulated card nor its long queues "
      "stand before the switch, so waiting ends where the socket buffer ends",
      loses ? "The loss is reproduced, the wait is not. " : "");
  finding.evidence.ru += fmt::format(
      ". {}Гость здесь — пространство имён: перед коммутатором нет ни эмулируемой карты, ни "
      "её длинных очередей, и ожидание кончается там, где кончается буфер сокета",
      loses ? "Потери воспроизведены, ожидание — нет. " : "");
}

void large_frames(const Run& run, Finding& finding) {
  const auto rows = curve(run, "size.");
  if (rows.empty()) return not_available(run, finding, "size.");
  const Row* worst = *std::max_element(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return *kpi_of(*a, "loss_ratio") < *kpi_of(*b, "loss_ratio");
  });
  const double loss = *kpi_of(*worst, "loss_ratio");
  finding.state = loss <= kLossStarts ? "reproduced" : "differs";
  finding.evidence = {fmt::format("worst of {} rows with frames above 500 bytes: {}, loss {}",
                                  rows.size(), worst->id, percent(loss)),
                      fmt::format("худшая из {} строк с кадрами больше 500 байт: {}, потери {}",
                                  rows.size(), worst->id, percent(loss))};
  if (finding.state == "differs") {
    finding.evidence.en +=
        ". The cost here is per frame and not per byte; at this rate other work on the two cores "
        "decides about single trials (see the stamps)";
    finding.evidence.ru +=
        ". Цена здесь зависит от числа кадров, а не байт; при этой частоте отдельные испытания "
        "решает "
        "посторонняя работа на двух ядрах (см. отметки)";
  }
}

void guest_adds_delay(const Run& run, Finding& finding) {
  const auto host_ovs = kpi_of(run, "host.ovs.100us", "latency_p50_us");
  const auto guest_ovs = kpi_of(run, "guest.ovs.100us", "latency_p50_us");
  const auto host_bridge = kpi_of(run, "host.bridge.100us", "latency_p50_us");
  const auto guest_bridge = kpi_of(run, "guest.bridge.100us", "latency_p50_us");
  const auto nothing = kpi_of(run, "direct.100us", "latency_p50_us");
  if (!host_bridge || !guest_bridge) return not_available(run, finding, "guest.bridge.100us");
  if (!host_ovs || !guest_ovs) return not_available(run, finding, "guest.ovs.100us");
  const double base = nothing.value_or(0);
  const double ovs = *guest_ovs - base, bridge = *guest_bridge - base;
  finding.state = ovs > 200 && bridge > 60 && ovs > bridge ? "reproduced" : "differs";
  finding.evidence = {fmt::format("above the cable at 10 kpps: Open vSwitch {:.1f} us (host "
                                  "{:.1f}), Linux bridge {:.1f} us (host {:.1f})",
                                  ovs, *host_ovs - base, bridge, *host_bridge - base),
                      fmt::format("сверх кабеля при 10 тыс./с: Open vSwitch {:.1f} мкс (хост "
                                  "{:.1f}), мост Linux {:.1f} мкс (хост {:.1f})",
                                  ovs, *host_ovs - base, bridge, *host_bridge - base)};
  if (finding.state == "differs") {
    finding.evidence.en +=
        ". The study's figures are those of a hypervisor's emulated cards, which a namespace does "
        "not "
        "have";
    finding.evidence.ru +=
        ". Цифры исследования — цена эмулируемых карт гипервизора, которых у пространства имён нет";
    if (ovs > 300) {
      finding.evidence.en +=
          "; Open vSwitch is slower here because it forwards in a process of its own that learns a "
          "new "
          "pair of MAC addresses with every packet";
      finding.evidence.ru +=
          "; Open vSwitch здесь медленнее: он пересылает в своём процессе и с каждым пакетом "
          "изучает "
          "новую пару MAC-адресов";
    }
  }
}

void bridge_before_ovs(const Run& run, Finding& finding) {
  const Knee bridge = knee_of(run, "host.bridge."), ovs = knee_of(run, "host.ovs.");
  if (curve(run, "host.bridge.").empty()) return not_available(run, finding, "host.bridge.");
  if (curve(run, "host.ovs.").empty()) return not_available(run, finding, "host.ovs.");
  const auto at = [](const Knee& knee) {
    return knee.first_lossy == nullptr ? INFINITY : knee.first_lossy->rate_pps;
  };
  finding.state = at(bridge) < at(ovs) ? "reproduced" : "differs";
  const auto words = [&](const Knee& knee, bool is_russian) {
    if (knee.first_lossy == nullptr) return std::string(is_russian ? "нигде" : "nowhere");
    const std::string rate = si(knee.first_lossy->rate_pps);
    return is_russian ? fmt::format("при {}pps", rate) : fmt::format("at {}pps", rate);
  };
  finding.evidence = {fmt::format("loss above 1 %: Linux bridge {}, Open vSwitch {}",
                                  words(bridge, false), words(ovs, false)),
                      fmt::format("потери больше 1 %: мост Linux {}, Open vSwitch {}",
                                  words(bridge, true), words(ovs, true))};
  if (finding.state == "differs") {
    finding.evidence.en +=
        ". The study's Open vSwitch forwards in the kernel; the one here forwards in a process of "
        "its "
        "own that asks its slow path for each pair of new MAC addresses, and all of them are new";
    finding.evidence.ru +=
        ". В исследовании Open vSwitch пересылает в ядре; здешний пересылает в своём процессе и "
        "обращается к медленному пути за каждой новой парой MAC-адресов, а новые здесь все";
  }
}

void intensity_is_offered(const Run& run, Finding& finding) {
  const auto rows = curve(run, "direct.");
  if (rows.empty()) return not_available(run, finding, "direct.");
  double worst = 1;
  std::string en, ru;
  for (const Row* row : rows) {
    const double share = *kpi_of(*row, "offered_pps") / row->rate_pps;
    worst = std::min(worst, share);
    en += fmt::format("{}{}pps: {}", en.empty() ? "offered of intended at " : ", ",
                      si(row->rate_pps), percent(share));
    ru += fmt::format("{}{}pps: {}", ru.empty() ? "предложено из намеченного при " : ", ",
                      si(row->rate_pps), percent(share));
  }
  finding.state = worst > 0.98 ? "pass" : "differs";
  finding.evidence = {en, ru};
  if (finding.state == "differs") {
    finding.evidence.en +=
        ". Rates above the ceiling are the tester's limit, and stamped so; the study's generator, "
        "whose "
        "gap is one sleep per packet, offers 19 to 47 thousand where its plan says a million";
    finding.evidence.ru +=
        ". Частоты выше предела тестера ограничены им и так помечены; генератор исследования, у "
        "которого "
        "интервал — один сон на пакет, предлагает 19–47 тысяч там, где план говорит о миллионе";
  }
}

}  // namespace

std::vector<Check> vswitch_checks() {
  return {
      {"delay-bends-where-loss-starts",
       {"delays rise exponentially where loss starts",
        "там, где начинаются потери, задержки растут экспоненциально"},
       delay_bends},
      {"openflow-in-guest-loses",
       {"in the guest, OpenFlow mode loses more than 50 % and exceeds 100 ms at high rates",
        "в госте режим OpenFlow на высоких частотах теряет больше 50 % и задерживает дольше 100 "
        "мс"},
       openflow_in_guest},
      {"no-loss-of-large-frames",
       {"no loss with frames above 500 bytes", "кадры больше 500 байт не теряются"},
       large_frames},
      {"guest-adds-delay",
       {"through a guest Open vSwitch adds 200 to 300 us, Linux bridge 120 us",
        "через гостя Open vSwitch добавляет 200–300 мкс, мост Linux 120 мкс"},
       guest_adds_delay},
      {"bridge-loses-before-ovs",
       {"Linux bridge loses first (100 kpps), where Open vSwitch does not",
        "первым теряет мост Linux (100 тыс. кадров/с), Open vSwitch ещё нет"},
       bridge_before_ovs},
      {"intensity-is-offered",
       {"the intensities of the plan are those that are offered",
        "предложенные интенсивности равны намеченным"},
       intensity_is_offered},
  };
}

}  // namespace merlon::lab
