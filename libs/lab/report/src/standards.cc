// SPDX-License-Identifier: Apache-2.0
// Tables in the form that the standards ask for, from rows of their suites.
#include <fmt/core.h>

#include <algorithm>

#include "html.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

using Rows = std::vector<const Row*>;

Rows of_suites(const RunIndex& index, std::initializer_list<std::string_view> prefixes) {
  Rows out;
  for (const Row& row : index.run().rows)
    for (const std::string_view prefix : prefixes)
      if (row.state == RowState::kDone && row.suite.starts_with(prefix)) {
        out.push_back(&row);
        break;
      }
  return out;
}

std::optional<double> kpi(const Row& row, const std::string& name) {
  const auto found = row.kpis.find(name);
  return found == row.kpis.end() ? std::nullopt : std::optional(found->second);
}

std::string cell(const Row& row, const std::string& name, Unit unit) {
  const auto value = kpi(row, name);
  return number_cell(value ? escape(quantity(*value, unit)) : "–");
}

std::string plain_cell(const Row& row, const std::string& name) {
  const auto value = kpi(row, name);
  return number_cell(value ? escape(digits(*value)) : "–");
}

void append_named(const Text& title, const Text& note, Table& table, std::string& out) {
  if (table.rows.empty()) return;
  table.caption = title;
  out.append("<h3>").append(both(title)).append("</h3>\n");
  append_table(table, out);
  out.append("<p class=\"note\">").append(both(note)).append("</p>\n");
}

std::vector<std::string> begin(const Row& row) {
  return {row_link(row), both(device_label(row.device)), both(traffic_label(row.traffic))};
}

std::vector<std::string> head(std::initializer_list<Text> rest) {
  std::vector<std::string> out{both({"row", "строка"}), both({"device", "устройство"}),
                               both({"traffic", "трафик"})};
  for (const Text& t : rest) out.push_back(number_cell(both(t)));
  return out;
}

void append_throughput(const RunIndex& index, std::string& out) {
  Table table;
  table.head = head({{"throughput", "пропускная способность"},
                     {"upper bound", "верхняя граница"},
                     {"line's limit", "предел линии"},
                     {"share", "доля"},
                     {"trial", "испытание"}});
  for (const Row* row : of_suites(index, {"rfc2544.throughput"})) {
    auto cells = begin(*row);
    cells.insert(
        cells.end(),
        {cell(*row, "throughput_pps", Unit::kPps), cell(*row, "throughput_upper_pps", Unit::kPps),
         cell(*row, "theoretical_pps", Unit::kPps), cell(*row, "line_share", Unit::kRatio),
         cell(*row, "trial_s", Unit::kSeconds)});
    table.rows.push_back(cells);
  }
  append_named({"RFC 2544, 26.1: throughput", "RFC 2544, 26.1: пропускная способность"},
               {"The highest rate at which no frame was lost. The standard asks for trials of at "
                "least 60 s; the "
                "length used is in the last column.",
                "Наибольшая частота без единого потерянного кадра. Стандарт требует испытаний не "
                "короче 60 с; "
                "длительность — в последнем столбце."},
               table, out);
}

void append_latency(const RunIndex& index, std::string& out) {
  Table table;
  table.head = head({{"at", "на частоте"},
                     {"mean (2544)", "среднее (2544)"},
                     {"typical", "типичная"},
                     {"p1 … p99 of repeats", "p1 … p99 повторов"},
                     {"worst case", "наихудшая"},
                     {"PDV", "PDV"},
                     {"repeats", "повторов"}});
  for (const Row* row : of_suites(index, {"rfc2544.latency"})) {
    auto cells = begin(*row);
    const auto low = kpi(*row, "typical_latency_p01_us"),
               high = kpi(*row, "typical_latency_p99_us");
    cells.insert(cells.end(),
                 {cell(*row, "latency_rate_pps", Unit::kPps),
                  cell(*row, "rfc2544_latency_us", Unit::kMicroseconds),
                  cell(*row, "typical_latency_us", Unit::kMicroseconds),
                  number_cell(low && high ? escape(quantity(*low, Unit::kMicroseconds) + " … " +
                                                   quantity(*high, Unit::kMicroseconds))
                                          : "–"),
                  cell(*row, "worst_latency_us", Unit::kMicroseconds),
                  cell(*row, "pdv_8219_us", Unit::kMicroseconds), plain_cell(*row, "trials")});
    table.rows.push_back(cells);
  }
  append_named(
      {"RFC 2544, 26.2 and RFC 8219, 7: latency", "RFC 2544, 26.2 и RFC 8219, 7: задержка"},
      {"RFC 8219: typical latency is the median, worst case the 99.9th percentile, PDV the 99.9th "
       "percentile "
       "less the minimum; each the median over the repeats, of which the standard asks for 20. All "
       "frames "
       "are tagged, not one per stream.",
       "RFC 8219: типичная задержка — медиана, наихудшая — процентиль 99,9, PDV — процентиль 99,9 "
       "минус "
       "минимум; каждая — медиана по повторам, которых стандарт требует 20. Помечены все кадры, а "
       "не один "
       "на поток."},
      table, out);
}

void append_loss(const RunIndex& index, std::string& out) {
  const Rows rows = of_suites(index, {"rfc2544.loss"});
  if (rows.empty()) return;
  Table table;
  table.head = head({{"100 % is", "100 % — это"}});
  std::vector<int> steps;
  for (int percent = 100; percent > 0; percent -= 10) {
    const std::string name = fmt::format("loss_at_{:03d}", percent);
    if (std::none_of(rows.begin(), rows.end(),
                     [&](const Row* r) { return kpi(*r, name).has_value(); }))
      continue;
    steps.push_back(percent);
    table.head.push_back(number_cell(fmt::format("{}\u00a0%", percent)));
  }
  for (const Row* row : rows) {
    auto cells = begin(*row);
    cells.push_back(cell(*row, "hundred_percent_pps", Unit::kPps));
    for (const int percent : steps)
      cells.push_back(cell(*row, fmt::format("loss_at_{:03d}", percent), Unit::kRatio));
    table.rows.push_back(cells);
  }
  append_named(
      {"RFC 2544, 26.3: frame loss rate", "RFC 2544, 26.3: доля потерянных кадров"},
      {"From the highest rate down in steps of 10 % until two trials in a row lose nothing.",
       "От наибольшей частоты вниз шагами по 10 %, пока два испытания подряд не пройдут без "
       "потерь."},
      table, out);
}

void append_back_to_back(const RunIndex& index, std::string& out) {
  Table table;
  table.head = head({{"mean burst", "средний всплеск"},
                     {"min", "мин"},
                     {"max", "макс"},
                     {"std. deviation", "ст. отклонение"},
                     {"repeats", "повторов"},
                     {"implied buffer", "расчётный буфер"},
                     {"corrected buffer", "исправленный буфер"}});
  for (const Row* row : of_suites(index, {"rfc2544.back_to_back"})) {
    auto cells = begin(*row);
    if (kpi(*row, "back_to_back_needed") == 0.0) {
      cells.push_back(both({"not needed: throughput is the highest rate",
                            "не нужно: пропускная способность равна наибольшей частоте"}));
      for (int i = 0; i < 6; ++i) cells.push_back(number_cell("–"));
    } else {
      for (const char* name :
           {"burst_mean", "burst_min", "burst_max", "burst_deviation", "burst_repeats"})
        cells.push_back(plain_cell(*row, name));
      cells.push_back(cell(*row, "implied_buffer_us", Unit::kMicroseconds));
      cells.push_back(cell(*row, "corrected_buffer_us", Unit::kMicroseconds));
    }
    table.rows.push_back(cells);
  }
  append_named(
      {"RFC 9004: back-to-back frames", "RFC 9004: кадры подряд"},
      {"Longest burst at the highest rate without loss, in frames. Implied buffer time = mean "
       "burst / highest "
       "rate; corrected = implied x (1 - throughput / highest rate), since the device drains while "
       "the burst "
       "arrives. The standard's inherited number of repeats is 50.",
       "Самый длинный всплеск без потерь на наибольшей частоте, в кадрах. Расчётное время буфера = "
       "средний "
       "всплеск / наибольшая частота; исправленное = расчётное x (1 - пропускная способность / "
       "наибольшая "
       "частота): пока всплеск идёт, буфер опустошается. Унаследованное число повторов — 50."},
      table, out);
}

void append_recovery(const RunIndex& index, std::string& out) {
  Table table;
  table.head = head({{"overload", "перегрузка"},
                     {"then", "затем"},
                     {"mean", "среднее"},
                     {"longest", "наибольшее"},
                     {"recovered", "восстановлений"},
                     {"overloads", "перегрузок"}});
  for (const Row* row : of_suites(index, {"rfc2544.recovery"})) {
    auto cells = begin(*row);
    cells.insert(cells.end(),
                 {cell(*row, "overload_pps", Unit::kPps), cell(*row, "after_pps", Unit::kPps),
                  cell(*row, "recovery_ms", Unit::kMilliseconds),
                  cell(*row, "recovery_max_ms", Unit::kMilliseconds),
                  plain_cell(*row, "recovered_trials"), plain_cell(*row, "overloaded_trials")});
    table.rows.push_back(cells);
  }
  append_named(
      {"RFC 2544 section 26.5: system recovery", "RFC 2544, раздел 26.5: восстановление"},
      {"From the end of an overload at 110 % of the throughput, or at the highest rate where that "
       "is less, to the last lost frame at half of the throughput; to 1 ms. Where fewer recovered "
       "than were overloaded, the time is a lower bound.",
       "От конца перегрузки в 110 % пропускной способности (или на наибольшей частоте, если она "
       "меньше) до последнего потерянного кадра на половине пропускной способности; с точностью "
       "1 мс. Если восстановлений меньше, чем перегрузок, время — оценка снизу."},
      table, out);
}

void append_reset(const RunIndex& index, std::string& out) {
  Table table;
  table.head = head({{"rate", "частота"},
                     {"lost frames", "потеряно кадров"},
                     {"by loss", "по потерям"},
                     {"worst by loss", "худшее по потерям"},
                     {"by time stamps", "по меткам времени"},
                     {"trials", "испытаний"}});
  for (const Row* row : of_suites(index, {"rfc6201.", "change.", "reset"})) {
    auto cells = begin(*row);
    cells.insert(
        cells.end(),
        {number_cell(row->rate_pps > 0 ? escape(quantity(row->rate_pps, Unit::kPps)) : "–"),
         plain_cell(*row, "lost_frames"), cell(*row, "blocked_by_loss_ms", Unit::kMilliseconds),
         cell(*row, "blocked_by_loss_max_ms", Unit::kMilliseconds),
         cell(*row, "blocked_by_time_ms", Unit::kMilliseconds), plain_cell(*row, "trials")});
    table.rows.push_back(cells);
  }
  append_named(
      {"RFC 6201: reset, and change under load", "RFC 6201: перезапуск и изменения под нагрузкой"},
      {"Time out of service by loss = lost frames / offered rate; by time stamps = the longest "
       "time without a "
       "single frame, to 1 ms.",
       "Простой по потерям = потерянные кадры / поданная частота; по меткам времени = самое долгое "
       "время без "
       "единого кадра, с точностью 1 мс."},
      table, out);
}

struct Limit {
  std::string_view name;
  Text title;
};

// What handshakes are, and how long they take, where rows have TLS between.
void append_tls(const Rows& rows, std::string& out) {
  Table table;
  table.head = head({{"highest rate", "наибольшая частота"},
                     {"handshakes/s", "рукопожатий/с"},
                     {"resumed", "возобновлено"},
                     {"handshake p50", "рукопожатие p50"},
                     {"handshake p99", "рукопожатие p99"},
                     {"from SYN p50", "от SYN p50"},
                     {"from SYN p99", "от SYN p99"},
                     {"TLS of the tester's time", "TLS во времени тестера"}});
  for (const Row* row : rows) {
    if (!kpi(*row, "handshakes_per_s")) continue;
    auto cells = begin(*row);
    cells.insert(cells.end(), {cell(*row, "max_cps", Unit::kPerSecond),
                               cell(*row, "handshakes_per_s", Unit::kPerSecond),
                               plain_cell(*row, "handshakes_resumed"),
                               cell(*row, "tls_handshake_p50_ms", Unit::kMilliseconds),
                               cell(*row, "tls_handshake_p99_ms", Unit::kMilliseconds),
                               cell(*row, "tls_established_p50_ms", Unit::kMilliseconds),
                               cell(*row, "tls_established_p99_ms", Unit::kMilliseconds),
                               cell(*row, "tester_tls_ratio", Unit::kRatio)});
    table.rows.push_back(cells);
  }
  append_named({"RFC 9411, 7.6 to 7.9: TLS handshakes", "RFC 9411, 7.6–7.9: рукопожатия TLS"},
               {"Per second over the sustain phase. A handshake lasts from the ClientHello to the "
                "client's Finished; from the SYN's intended time TCP's own is part of it.",
                "В секунду, за фазу удержания. Рукопожатие длится от ClientHello до Finished "
                "клиента; от намеченного времени SYN в него входит и установление TCP."},
               table, out);
}

void append_indicators(const Rows& rows, std::string& out) {
  Table kpis;
  kpis.head = head({{"highest rate", "наибольшая частота"},
                    {"connections/s", "соединений/с"},
                    {"transactions/s", "транзакций/с"},
                    {"goodput", "полезная скорость"},
                    {"concurrent", "одновременно"},
                    {"TTFB p50", "TTFB p50"},
                    {"TTFB p99", "TTFB p99"},
                    {"TTLB p50", "TTLB p50"},
                    {"TTLB p99", "TTLB p99"}});
  for (const Row* row : rows) {
    auto cells = begin(*row);
    cells.insert(
        cells.end(),
        {cell(*row, "max_cps", Unit::kPerSecond), cell(*row, "connections_per_s", Unit::kPerSecond),
         cell(*row, "transactions_per_s", Unit::kPerSecond), cell(*row, "goodput_bps", Unit::kBps),
         plain_cell(*row, "concurrent_max"), cell(*row, "ttfb_p50_ms", Unit::kMilliseconds),
         cell(*row, "ttfb_p99_ms", Unit::kMilliseconds),
         cell(*row, "ttlb_p50_ms", Unit::kMilliseconds),
         cell(*row, "ttlb_p99_ms", Unit::kMilliseconds)});
    kpis.rows.push_back(cells);
  }
  append_named({"RFC 9411, 7: key performance indicators", "RFC 9411, 7: показатели"},
               {"Averaged over the sustain phase only.", "Усреднены только по фазе удержания."},
               kpis, out);
}

void append_limits(const Rows& rows, std::string& out) {
  Table limits;
  limits.head = {both({"row", "строка"}), both({"limit", "предел"}),
                 number_cell(both({"measured", "измерено"})),
                 number_cell(both({"allowed", "допустимо"})), both({"verdict", "вердикт"})};
  for (const Row* row : rows)
    for (const Limit& limit : std::initializer_list<Limit>{
             {"failed_transaction_ratio", {"failed transactions", "неудачные транзакции"}},
             {"reset_ratio",
              {"connections torn down by an unexpected RST",
               "соединения, сброшенные нежданным RST"}},
             {"rate_deviation", {"forwarding rate constant", "постоянство скорости"}},
             {"concurrent_deviation",
              {"concurrent connections constant", "постоянство числа соединений"}}}) {
      const std::string name(limit.name);
      const auto value = kpi(*row, name), allowed = kpi(*row, name + "_limit"),
                 passed = kpi(*row, name + "_passed");
      if (!allowed || !passed) {
        limits.rows.push_back({row_link(*row), both(limit.title), number_cell("–"),
                               number_cell("–"), both({"not measured", "не измерено"})});
        continue;
      }
      limits.rows.push_back({row_link(*row), both(limit.title),
                             number_cell(value ? escape(quantity(*value, Unit::kRatio)) : "–"),
                             number_cell("≤\u00a0" + escape(quantity(*allowed, Unit::kRatio))),
                             *passed != 0 ? badge("pass", finding_title("pass"))
                                          : badge("fail", finding_title("fail"))});
    }
  append_named({"RFC 9411: pass limits during sustain", "RFC 9411: пределы фазы удержания"},
               {"A row passes when every measured limit is kept.",
                "Строка годна, если соблюдён каждый измеренный предел."},
               limits, out);
}

void append_rfc9411(const RunIndex& index, std::string& out) {
  const Rows rows = of_suites(index, {"rfc9411."});
  append_indicators(rows, out);
  append_tls(rows, out);
  append_limits(rows, out);
}

}  // namespace

void append_standards(const RunIndex& index, std::string& out) {
  std::string tables;
  append_throughput(index, tables);
  append_latency(index, tables);
  append_loss(index, tables);
  append_back_to_back(index, tables);
  append_recovery(index, tables);
  append_reset(index, tables);
  append_rfc9411(index, tables);
  if (tables.empty()) return;
  open_section("standards", {"Tables of the standards", "Таблицы стандартов"}, out);
  out.append(tables);
  close_section(out);
}

}  // namespace merlon::lab::report
