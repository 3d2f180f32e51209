// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "format.h"

namespace merlon::lab::report {
namespace {

struct Known {
  std::string_view name;
  Unit unit;
  Better better;
  const char* en;
  const char* ru;
};

constexpr Better kHigher = Better::kHigher, kLower = Better::kLower, kNeither = Better::kNeither;

constexpr std::array kKnown{
    Known{"intended_pps", Unit::kPps, kNeither, "intended load", "заданная нагрузка"},
    Known{"offered_pps", Unit::kPps, kNeither, "offered load", "поданная нагрузка"},
    Known{"received_pps", Unit::kPps, kHigher, "received", "принято"},
    Known{"throughput_pps", Unit::kPps, kHigher, "throughput", "пропускная способность"},
    Known{"received_bps", Unit::kBps, kHigher, "received on the line (L1)",
          "принято по линии (L1)"},
    Known{"loss_ratio", Unit::kRatio, kLower, "frame loss", "потери кадров"},
    Known{"lost", Unit::kCount, kLower, "lost frames", "потеряно кадров"},
    Known{"reordered", Unit::kCount, kLower, "reordered frames", "кадров не по порядку"},
    Known{"duplicated", Unit::kCount, kLower, "duplicated frames", "кадров-дублей"},
    Known{"corrupted", Unit::kCount, kLower, "corrupted frames", "повреждённых кадров"},
    Known{"false_accepts", Unit::kCount, kLower, "wrongly passed frames",
          "ошибочно пропущено кадров"},
    Known{"false_denies", Unit::kCount, kLower, "wrongly dropped frames",
          "ошибочно отброшено кадров"},
    Known{"latency_mean_us", Unit::kMicroseconds, kLower, "mean latency", "средняя задержка"},
    Known{"latency_min_us", Unit::kMicroseconds, kLower, "lowest latency", "наименьшая задержка"},
    Known{"latency_max_us", Unit::kMicroseconds, kLower, "highest latency", "наибольшая задержка"},
    Known{"latency_p50_us", Unit::kMicroseconds, kLower, "latency, median", "задержка, медиана"},
    Known{"latency_p90_us", Unit::kMicroseconds, kLower, "latency, p90", "задержка, p90"},
    Known{"latency_p99_us", Unit::kMicroseconds, kLower, "latency, p99", "задержка, p99"},
    Known{"latency_p999_us", Unit::kMicroseconds, kLower, "latency, p99.9", "задержка, p99.9"},
    Known{"latency_p9999_us", Unit::kMicroseconds, kLower, "latency, p99.99", "задержка, p99.99"},
    Known{"pdv_us", Unit::kMicroseconds, kLower, "packet delay variation (p99.9 - min)",
          "разброс задержки (p99.9 - мин)"},
    Known{"lateness_p99_us", Unit::kMicroseconds, kNeither, "sender's lateness, p99",
          "опоздание передатчика, p99"},
    Known{"packets_per_cpu_s", Unit::kPerCpuSecond, kHigher, "packets per CPU second",
          "пакетов на секунду CPU"},
    Known{"cycles_per_packet", Unit::kCycles, kLower, "device cycles per packet",
          "тактов устройства на пакет"},
    Known{"device_cpu_s", Unit::kSeconds, kLower, "device CPU time", "время CPU устройства"},
    Known{"device_cpu", Unit::kNone, kLower, "device CPU, cores", "CPU устройства, ядер"},
    Known{"total_cpu", Unit::kNone, kLower, "all CPU, cores", "весь CPU, ядер"},
    Known{"intended_p50_us", Unit::kMicroseconds, kLower, "latency from the schedule, median",
          "задержка от расписания, медиана"},
    Known{"intended_p99_us", Unit::kMicroseconds, kLower, "latency from the schedule, p99",
          "задержка от расписания, p99"},
    Known{"latency_added_us", Unit::kMicroseconds, kLower, "median latency above the null path's",
          "медиана задержки сверх прямого пути"},
    Known{"trials", Unit::kCount, kNeither, "trials", "испытаний"},
    Known{"total_cpu_s", Unit::kSeconds, kLower, "all CPU time", "всё время CPU"},
    Known{"device_rss_mib", Unit::kMib, kLower, "device memory", "память устройства"},
    Known{"load_s", Unit::kSeconds, kLower, "time to load the rules", "время загрузки правил"},
    Known{"rules", Unit::kCount, kNeither, "rules", "правила"},
    Known{"flows", Unit::kCount, kNeither, "flows", "потоки"},
    Known{"frame_size", Unit::kBytes, kNeither, "frame size", "размер кадра"},
    Known{"interval_us", Unit::kMicroseconds, kNeither, "packet interval", "интервал пакетов"},
    Known{"device", Unit::kNone, kNeither, "device", "устройство"},
    Known{"driver", Unit::kNone, kNeither, "driver", "драйвер"},
    Known{"mode", Unit::kNone, kNeither, "mode", "режим"},
    Known{"place", Unit::kNone, kNeither, "place", "место"},
    Known{"macs", Unit::kCount, kNeither, "MAC addresses", "MAC-адреса"},
    Known{"ndr_pps", Unit::kPps, kHigher, "rate without loss (NDR)", "частота без потерь (NDR)"},
    Known{"pdr_pps", Unit::kPps, kHigher, "rate with partial loss (PDR)",
          "частота при частичных потерях (PDR)"},
    Known{"connections_per_s", Unit::kPerSecond, kHigher, "TCP connections per second",
          "соединений TCP в секунду"},
    Known{"transactions_per_s", Unit::kPerSecond, kHigher, "transactions per second",
          "транзакций в секунду"},
    Known{"concurrent", Unit::kCount, kHigher, "concurrent connections",
          "одновременных соединений"},
    Known{"concurrent_max", Unit::kCount, kHigher, "most concurrent connections",
          "наибольшее число соединений"},
    Known{"goodput_bps", Unit::kBps, kHigher, "goodput", "полезная скорость"},
    Known{"ttfb_p50_ms", Unit::kMilliseconds, kLower, "time to first byte, median",
          "до первого байта, медиана"},
    Known{"ttfb_p99_ms", Unit::kMilliseconds, kLower, "time to first byte, p99",
          "до первого байта, p99"},
    Known{"ttlb_p50_ms", Unit::kMilliseconds, kLower, "time to last byte, median",
          "до последнего байта, медиана"},
    Known{"ttlb_p99_ms", Unit::kMilliseconds, kLower, "time to last byte, p99",
          "до последнего байта, p99"},
    Known{"connect_p50_ms", Unit::kMilliseconds, kLower, "connect time, median",
          "время соединения, медиана"},
    Known{"connect_p99_ms", Unit::kMilliseconds, kLower, "connect time, p99",
          "время соединения, p99"},
    Known{"failed_transaction_ratio", Unit::kRatio, kLower, "failed transactions",
          "неудачных транзакций"},
    Known{"reset_ratio", Unit::kRatio, kLower, "connections reset", "сброшенных соединений"},
    Known{"cycles_per_connection", Unit::kCycles, kLower, "cycles per connection",
          "тактов на соединение"},
    Known{"device_s_per_connection", Unit::kSeconds, kLower, "device CPU time per connection",
          "время CPU устройства на соединение"},
    Known{"max_cps", Unit::kPerSecond, kHigher, "highest connection rate",
          "наибольшая частота соединений"},
    Known{"blocked_by_loss_ms", Unit::kMilliseconds, kLower, "time out of service, by loss",
          "простой по потерям"},
    Known{"blocked_by_loss_max_ms", Unit::kMilliseconds, kLower,
          "worst time out of service, by loss", "худший простой по потерям"},
    Known{"blocked_by_time_ms", Unit::kMilliseconds, kLower, "time out of service, by stamps",
          "простой по меткам"},
    Known{"whole_pps", Unit::kPps, kHigher, "highest rate with RX equal to TX",
          "наибольшая частота, где RX равно TX"},
    Known{"saturated_pps", Unit::kPps, kHigher, "most received at any load",
          "наибольший приём при любой нагрузке"},
    Known{"starved_ratio", Unit::kRatio, kHigher, "received beside a neighbour",
          "принято рядом с соседом"},
    Known{"first_packet_p50_us", Unit::kMicroseconds, kLower,
          "first packets of flows, median latency", "первые пакеты потоков, медиана задержки"},
    Known{"first_packet_p99_us", Unit::kMicroseconds, kLower, "first packets of flows, p99 latency",
          "первые пакеты потоков, p99 задержки"},
    Known{"corrected_buffer_us", Unit::kMicroseconds, kNeither, "corrected buffer time",
          "исправленное время буфера"},
    Known{"typical_latency_us", Unit::kMicroseconds, kLower, "typical latency (RFC 8219)",
          "типичная задержка (RFC 8219)"},
    Known{"worst_latency_us", Unit::kMicroseconds, kLower, "worst-case latency (RFC 8219)",
          "наихудшая задержка (RFC 8219)"},
    Known{"wrongly_passed", Unit::kCount, kLower, "wrongly passed frames",
          "ошибочно пропущено кадров"},
    Known{"wrongly_dropped", Unit::kCount, kLower, "wrongly dropped frames",
          "ошибочно отброшено кадров"},
    Known{"coupled_loss_ratio", Unit::kRatio, kLower, "loss while rules change",
          "потери при смене правил"},
    Known{"first_clean_percent", Unit::kPercent, kHigher, "first load without loss",
          "первая нагрузка без потерь"},
    Known{"protected_ratio", Unit::kRatio, kHigher, "legitimate traffic kept",
          "сохранено полезного трафика"},
};

struct Suffix {
  std::string_view end;
  Unit unit;
  Better better;
};

constexpr std::array kSuffixes{
    Suffix{"_packets_per_cpu_s", Unit::kPerCpuSecond, kHigher},
    Suffix{"per_cpu_s", Unit::kPerCpuSecond, kHigher},
    Suffix{"_per_s", Unit::kPerSecond, kHigher},
    Suffix{"_pps", Unit::kPps, kHigher},
    Suffix{"_bps", Unit::kBps, kHigher},
    Suffix{"loss_ratio", Unit::kRatio, kLower},
    Suffix{"failed_ratio", Unit::kRatio, kLower},
    Suffix{"_ratio", Unit::kRatio, kNeither},
    Suffix{"_share", Unit::kRatio, kNeither},
    Suffix{"_percent", Unit::kPercent, kNeither},
    Suffix{"_ns", Unit::kNanoseconds, kLower},
    Suffix{"_us", Unit::kMicroseconds, kLower},
    Suffix{"_ms", Unit::kMilliseconds, kLower},
    Suffix{"_s", Unit::kSeconds, kLower},
    Suffix{"_mib", Unit::kMib, kLower},
    Suffix{"_bytes", Unit::kBytes, kNeither},
    Suffix{"cycles", Unit::kCycles, kLower},
    Suffix{"_cycles_per_packet", Unit::kCycles, kLower},
    Suffix{"_frames", Unit::kCount, kNeither},
    Suffix{"_hz", Unit::kHertz, kNeither},
};

}  // namespace

ValueInfo value_info(std::string_view name) {
  const auto known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.name == name; });
  if (known != kKnown.end()) return {known->unit, known->better, {known->en, known->ru}};
  ValueInfo info;
  for (const Suffix& s : kSuffixes) {
    if (!name.ends_with(s.end)) continue;
    info.unit = s.unit;
    info.better = s.better;
    break;
  }
  std::string title(name);
  std::replace(title.begin(), title.end(), '_', ' ');
  info.title = {title, title};
  return info;
}

}  // namespace merlon::lab::report
