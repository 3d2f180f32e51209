// SPDX-License-Identifier: Apache-2.0
// Plans after standards, and of single subjects: changes under load, locality.
#include <fmt/format.h>

#include <algorithm>

#include "https.h"
#include "plans.h"

namespace merlon::lab {

namespace {

struct Peer {
  const char* id;
  Text title;
  DeviceSpec device;
};

std::vector<Peer> peers() {
  return {{"bridge", {"Linux bridge", "Мост Linux"}, linux_bridge()},
          {"ovs", {"Open vSwitch", "Open vSwitch"}, ovs("normal", 0)},
          {"merlon",
           {"Merlon wire, 1,000 rules", "Merlon wire, 1000 правил"},
           merlon_device("wire", 1000)}};
}

Row peer_row(const Peer& peer, const std::string& what, const Text& title, const char* suite) {
  // What is measured comes first in the id: charts choose rows by its start.
  const std::size_t point = std::min(what.find('.'), what.size());
  Row row = row_of(fmt::format("{}.{}{}", what.substr(0, point), peer.id, what.substr(point)),
                   {fmt::format("{}, {}", peer.title.en, title.en),
                    fmt::format("{}, {}", peer.title.ru, title.ru)},
                   suite, peer.device);
  row.traffic.flows = 64;
  row.parameters["rules"] = peer.device.rules;
  return row;
}

ChartSpec by_device(std::string id, std::string kind, Text title, std::string x, std::string y,
                    std::string rows) {
  return chart(std::move(id), std::move(kind), std::move(title), std::move(x), std::move(y),
               "device", std::move(rows));
}

}  // namespace

Plan rfc2544_plan() {
  Plan plan;
  plan.name = "rfc2544";
  plan.title = {"RFC 2544 with its corrections", "RFC 2544 с поправками"};
  plan.question = {
      "Throughput, latency, loss, bursts and resets of a bridge, Open vSwitch and Merlon",
      "Пропускная способность, задержка, потери, всплески и сбросы моста, Open vSwitch и Merlon"};
  plan.budget_s = 540;
  for (const Peer& peer : peers()) {
    for (const char* size : {"64", "128", "256", "512", "1024", "1280", "1518"}) {
      Row row = peer_row(peer, std::string("throughput.") + size,
                         {std::string(size) + " bytes, throughput",
                          std::string(size) + " байт, пропускная способность"},
                         "rfc2544.throughput");
      row.traffic.sizes = size;
      row.parameters["frame_size"] = std::stod(size);
      row.parameters["search_s"] = 8;
      plan.rows.push_back(std::move(row));
    }
    // RFC 5180: the same over IPv6. Frames below 84 bytes hold no tag.
    for (const char* size : {"128", "1518"}) {
      Row row = peer_row(peer, std::string("ipv6.throughput.") + size,
                         {std::string(size) + " bytes over IPv6, throughput",
                          std::string(size) + " байт по IPv6, пропускная способность"},
                         "rfc2544.throughput");
      row.traffic.sizes = size;
      row.traffic.ipv6_share = 1;
      row.parameters["frame_size"] = std::stod(size);
      row.parameters["search_s"] = 6;
      plan.rows.push_back(std::move(row));
    }
    Row latency = peer_row(peer, "latency", {"latency", "задержка"}, "rfc2544.latency");
    latency.repeats = 5;
    Row loss = peer_row(peer, "loss", {"loss against load", "потери от нагрузки"}, "rfc2544.loss");
    loss.duration_s = 0.8;
    Row burst = peer_row(peer, "burst", {"back-to-back", "всплески"}, "rfc2544.back_to_back");
    burst.repeats = 3;
    burst.duration_s = 0.6;
    burst.parameters["search_s"] = 15;
    Row recovery =
        peer_row(peer, "recovery", {"recovery from overload", "восстановление после перегрузки"},
                 "rfc2544.recovery");
    recovery.repeats = 2;
    recovery.parameters["search_s"] = 6;
    Row flap = peer_row(peer, "reset.link", {"link reset", "сброс линка"}, "rfc6201.flap");
    flap.rate_pps = 20'000;
    flap.duration_s = 2;
    flap.repeats = 2;
    for (Row* row : {&latency, &loss, &burst, &recovery, &flap})
      plan.rows.push_back(std::move(*row));
    if (std::string(peer.id) == "bridge")
      continue;  // the kernel has no process that could be killed
    Row kill = peer_row(peer, "reset.process", {"process killed", "процесс убит"}, "rfc6201.kill");
    kill.rate_pps = 20'000;
    kill.duration_s = 4;
    kill.repeats = 2;
    plan.rows.push_back(std::move(kill));
  }
  plan.charts.push_back(
      by_device("throughput", "lines",
                {"Throughput against frame size", "Пропускная способность от размера кадра"},
                "frame_size", "throughput_pps", "throughput."));
  plan.charts.push_back(
      by_device("throughput.ipv6", "lines",
                {"Throughput over IPv6 (RFC 5180)", "Пропускная способность по IPv6 (RFC 5180)"},
                "frame_size", "throughput_pps", "ipv6."));
  plan.charts.push_back(by_device("loss", "lines", {"Loss against load", "Потери от нагрузки"},
                                  "offered_pps", "loss_ratio", "loss."));
  plan.charts.push_back(by_device("latency", "percentiles",
                                  {"Latency at the throughput rate", "Задержка на частоте ПС"}, "",
                                  "", "latency."));
  plan.checks = {"ceiling-above-devices"};
  return plan;
}

Plan rfc9411_plan() {
  Plan plan;
  plan.name = "rfc9411";
  plan.title = {"RFC 9411: a next-generation firewall's KPIs",
                "RFC 9411: показатели межсетевого экрана"};
  plan.question = {
      "Connections, transactions, throughput and their latency through Merlon and nftables, within "
      "the "
      "standard's limits",
      "Соединения, транзакции, пропускная способность и задержки через Merlon и nftables в "
      "пределах стандарта"};
  plan.budget_s = 600;
  struct Size {
    const char* id;
    unsigned rules;
  };
  const std::vector<Peer> devices = {
      {"merlon", {"Merlon wire", "Merlon wire"}, merlon_device("wire", 100)},
      {"nft-ct",
       {"nftables, connection tracking", "nftables, отслеживание соединений"},
       nftables("routed-ct", 100)}};
  for (const Peer& peer : devices) {
    const auto add = [&](const std::string& what, const Text& title, const char* suite,
                         std::map<std::string, double> parameters, unsigned rules) {
      Peer sized = peer;
      sized.device.rules = rules;
      Row row = peer_row(sized, what, title, suite);
      row.traffic.protocol = "tcp";
      row.duration_s = 2;
      row.repeats = 1;
      row.parameters.insert(parameters.begin(), parameters.end());
      row.parameters["stateful"] = 1;
      row.parameters["drop_rule"] = 1;
      plan.rows.push_back(std::move(row));
    };
    for (const double kib : {1.0, 2.0, 4.0, 16.0, 64.0})
      add(fmt::format("rate.{:g}k", kib),
          {fmt::format("connections with {:g} KiB objects", kib),
           fmt::format("соединения, объекты {:g} КиБ", kib)},
          "rfc9411.rate",
          {{"object_kib", kib}, {"cps", 500}, {"effectiveness_pps", 5000}, {"search_s", 14}}, 100);
    for (const double kib : {1.0, 16.0, 64.0, 256.0})
      add(fmt::format("throughput.{:g}k", kib),
          {fmt::format("HTTP throughput, {:g} KiB", kib),
           fmt::format("пропускная способность HTTP, {:g} КиБ", kib)},
          "rfc9411.throughput",
          {{"object_kib", kib}, {"transactions", 10}, {"cps", 50}, {"search_s", 14}}, 100);
    add("latency", {"transaction latency, 16 KiB", "задержка транзакций, 16 КиБ"},
        "rfc9411.latency", {{"object_kib", 16}, {"cps", 300}}, 100);
    add("concurrent", {"concurrent connections", "одновременные соединения"}, "rfc9411.concurrent",
        {{"object_kib", 1}, {"concurrent", 5000}, {"ramp_s", 2}}, 100);
    // Rule counts of the size classes XS, S, M, L.
    for (const auto& size : {Size{"xs", 25}, Size{"s", 50}, Size{"m", 150}, Size{"l", 500}})
      add(fmt::format("rules.{}", size.id),
          {fmt::format("rule class {}, 4 KiB", size.id),
           fmt::format("класс правил {}, 4 КиБ", size.id)},
          "rfc9411.latency", {{"object_kib", 4}, {"cps", 500}}, size.rules);
  }
  plan.charts.push_back(by_device("rate", "bars",
                                  {"Connections per second", "Соединений в секунду"}, "row",
                                  "max_cps", "rate."));
  plan.charts.push_back(by_device("throughput", "bars", {"HTTP goodput", "Полезная скорость HTTP"},
                                  "row", "goodput_bps", "throughput."));
  add_https_rows(plan);
  return plan;
}

Plan vswitch_set_plan() {
  Plan plan;
  plan.name = "vswitch-set";
  plan.title = {"A virtual switch by RFC 8204", "Виртуальный коммутатор по RFC 8204"};
  plan.question = {
      "Activation and operation of the switches of this machine: first packets, learning, changes "
      "under load",
      "Включение и работа коммутаторов этой машины: первые пакеты, обучение, изменения под "
      "нагрузкой"};
  plan.budget_s = 240;
  for (const Peer& peer : peers()) {
    Row p2p = peer_row(peer, "p2p", {"port to port, search", "порт–порт, поиск"}, "search");
    p2p.parameters["search_s"] = 10;
    Row first = peer_row(peer, "first", {"initial packets", "первые пакеты"}, "initial_packet");
    first.rate_pps = 5000;
    first.repeats = 3;
    Row learning =
        peer_row(peer, "learning", {"address learning", "обучение адресам"}, "address_learning");
    learning.traffic.flows = 1;
    learning.traffic.source_mac = {Variation::kCycle, 8000};
    learning.parameters["search_s"] = 10;
    learning.duration_s = 0.6;
    Row noisy = peer_row(peer, "noisy", {"noisy neighbour", "шумный сосед"}, "starvation");
    noisy.rate_pps = 20'000;
    for (Row* row : {&p2p, &first, &learning, &noisy}) plan.rows.push_back(std::move(*row));
    if (std::string(peer.id) == "bridge") continue;  // it has no rules to change
    Row coupling = peer_row(peer, "coupling",
                            {"rules changed under load", "смена правил под нагрузкой"}, "coupling");
    if (std::string(peer.id) == "ovs") coupling.device = ovs("openflow", 100, "path9");
    coupling.rate_pps = 10'000;
    coupling.duration_s = 2;
    coupling.repeats = 2;
    coupling.parameters["changes_per_s"] = 5;
    plan.rows.push_back(std::move(coupling));
  }
  plan.charts.push_back(
      by_device("first", "bars", {"First packet of a flow, median", "Первый пакет потока, медиана"},
                "row", "first_packet_p50_us", "first."));
  plan.charts.push_back(by_device("coupled", "bars",
                                  {"p99 while rules change", "p99 при смене правил"}, "row",
                                  "coupled_p99_us", "coupling."));
  return plan;
}

Plan change_plan() {
  Plan plan;
  plan.name = "change-under-load";
  plan.title = {"Changes, resets and attacks under load",
                "Изменения, сбросы и атаки под нагрузкой"};
  plan.question = {
      "For how long is traffic held up by a commit, a crash, a link that goes, an attack?",
      "На сколько задерживают трафик фиксация правил, падение процесса, обрыв линка, атака?"};
  plan.budget_s = 180;
  const std::vector<Peer> devices = {
      {"merlon",
       {"Merlon wire, 4,000 rules", "Merlon wire, 4000 правил"},
       merlon_device("wire", 4000)},
      {"nft", {"nftables, 4,000 in a set", "nftables, 4000 множеством"}, nftables("set", 4000)},
      {"ovs",
       {"Open vSwitch, 1,000 rules", "Open vSwitch, 1000 правил"},
       ovs("openflow", 1000, "path9")}};
  for (const Peer& peer : devices) {
    Row commit =
        peer_row(peer, "commit", {"all rules exchanged", "замена всех правил"}, "change.commit");
    Row flap =
        peer_row(peer, "flap", {"link down for 0.2 s", "обрыв линка на 0,2 с"}, "rfc6201.flap");
    Row kill = peer_row(peer, "kill", {"kill -9", "kill -9"}, "rfc6201.kill");
    Row attack =
        peer_row(peer, "attack", {"SYN flood beside", "SYN-флуд рядом"}, "protected_goodput");
    Row verdicts = peer_row(peer, "verdicts", {"verdicts under load", "решения под нагрузкой"},
                            "effectiveness");
    for (Row* row : {&commit, &flap, &kill, &attack, &verdicts}) {
      row->rate_pps = 10'000;
      row->duration_s = row == &kill ? 4 : 2;
      row->repeats = 3;
    }
    attack.traffic.attack = AttackKind::kSynFlood;
    attack.traffic.attack_pps = 50'000;
    attack.traffic.attack_sources = 100'000;
    verdicts.traffic.drop_share = 0.1;
    plan.rows.push_back(std::move(commit));
    plan.rows.push_back(std::move(flap));
    if (std::string(peer.id) != "nft") plan.rows.push_back(std::move(kill));
    plan.rows.push_back(std::move(attack));
    plan.rows.push_back(std::move(verdicts));
  }
  plan.charts.push_back(by_device("blocked", "bars",
                                  {"Held up, by lost frames", "Простой по потерянным кадрам"},
                                  "row", "blocked_by_loss_ms", ""));
  ChartSpec goodput = by_device(
      "goodput", "bars",
      {"Legitimate traffic that survives the attack", "Законный трафик, переживший атаку"}, "row",
      "protected_ratio", "attack.");
  plan.charts.push_back(goodput);
  return plan;
}

Plan locality_plan() {
  Plan plan;
  plan.name = "locality";
  plan.title = {"Locality: flows and MAC addresses", "Локальность: потоки и MAC-адреса"};
  plan.question = {"Where do caches end as flows and MAC addresses grow?",
                   "Где кончаются кэши с ростом числа потоков и MAC-адресов?"};
  plan.budget_s = 240;
  for (const Peer& peer : peers())
    for (const double flows : {1.0, 100.0, 10'000.0, 1'000'000.0})
      for (const double macs : {1.0, 1000.0, 100'000.0}) {
        Row row = peer_row(peer, fmt::format("cell.f{:.0f}.m{:.0f}", flows, macs),
                           {fmt::format("flows: {:.0f}, MACs: {:.0f}", flows, macs),
                            fmt::format("потоков: {:.0f}, MAC: {:.0f}", flows, macs)},
                           "locality");
        row.duration_s = 0.5;
        row.repeats = 2;
        row.traffic.flows = static_cast<std::uint64_t>(flows);
        if (macs > 1)
          row.traffic.source_mac =
              row.traffic.destination_mac = {Variation::kCycle, static_cast<std::uint64_t>(macs)};
        row.parameters["flows"] = flows;
        row.parameters["macs"] = macs;
        plan.rows.push_back(std::move(row));
      }
  for (const Peer& peer : peers()) {
    ChartSpec heat =
        by_device(std::string("heat-") + peer.id, "heat",
                  {peer.title.en + ": highest rate", peer.title.ru + ": наибольшая частота"},
                  "flows", "received_pps", fmt::format("cell.{}.", peer.id));
    heat.series = "macs";
    plan.charts.push_back(heat);
  }
  return plan;
}

}  // namespace merlon::lab
