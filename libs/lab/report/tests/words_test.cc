// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <gtest/gtest.h>

#include "chart_parts.h"
#include "values.h"

namespace merlon::lab::report {
namespace {

TEST(Words, NounsFollowTheirNumber) {
  EXPECT_EQ(counted(1, kTrials).en, "1\u00a0trial");
  EXPECT_EQ(counted(0, kTrials).en, "0\u00a0trials");
  EXPECT_EQ(counted(4000, kRules).en, "4\u202f000\u00a0rules");
  for (const auto& [n, word] : {std::pair{0, "правил"},
                                {1, "правило"},
                                {2, "правила"},
                                {4, "правила"},
                                {5, "правил"},
                                {11, "правил"},
                                {12, "правил"},
                                {14, "правил"},
                                {21, "правило"},
                                {22, "правила"},
                                {25, "правил"},
                                {111, "правил"},
                                {1001, "правило"}})
    EXPECT_EQ(noun(static_cast<std::uint64_t>(n), kRules).ru, word) << n;
}

TEST(Words, DevicesAndTrafficAreNamedInBothLanguages) {
  DeviceSpec device;
  device.driver = "nftables";
  device.mode = "linear";
  device.rules = 100;
  device.place = "namespace";
  EXPECT_EQ(device_label(device).en, "nftables linear, 100\u00a0rules @namespace");
  EXPECT_EQ(device_label(device).ru, "nftables подряд, 100\u00a0правил @пространство имён");
  TrafficSpec traffic;
  traffic.flows = 64;
  traffic.is_bidirectional = true;
  EXPECT_EQ(traffic_label(traffic).en, "64\u00a0B udp, 64\u00a0flows, both ways");
  EXPECT_EQ(traffic_label(traffic).ru, "64\u00a0B udp, 64\u00a0потока, в обе стороны");
  traffic.ipv6_share = 0.3;
  EXPECT_EQ(traffic_label(traffic).en, "64\u00a0B udp, 64\u00a0flows, IPv6 30\u00a0%, both ways");
}

TEST(Words, SentencesOfTheLaboratoryAreToldInRussianWithTheirFigures) {
  EXPECT_EQ(sentence("other processes used 12.5 % of the measuring cores: cc1plus, ld").ru,
            "другие процессы заняли 12.5 % времени измеряющих ядер: cc1plus, ld");
  EXPECT_EQ(sentence("310.0 kpps are within 80 % of the null path's ceiling of 350.0 kpps").ru,
            "310.0 kpps — выше 80 % предела прямого пути (350.0 kpps)");
  EXPECT_EQ(sentence("width reached").ru, "достигнута ширина");
  EXPECT_EQ(sentence("width reached").en, "width reached");
  EXPECT_EQ(told({"the device passed no frame at all (2 times; last in trial a.b.t7) (its log and "
                  "commands are in the output folder)",
                  ""})
                .ru,
            "устройство не пропустило ни одного кадра (раз: 2; последний — в испытании a.b.t7); "
            "журнал и команды — в папке вывода");
  EXPECT_EQ(
      sentence("the host took 7.5 % of core 0 (steal); the host took 8 % of core 1 (steal)").ru,
      "хост отнял 7.5 % времени ядра 0 (steal); хост отнял 8 % времени ядра 1 (steal)");
  EXPECT_EQ(
      sentence("the host took 7.5 % of core 0 (steal); other processes used 9 % of the measuring "
               "cores: ld (2 times; last in trial t7) (its log and commands are in the output "
               "folder)")
          .ru,
      "хост отнял 7.5 % времени ядра 0 (steal); другие процессы заняли 9 % времени "
      "измеряющих ядер: ld (раз: 2; последний — в испытании t7); журнал и команды — в папке "
      "вывода");
  EXPECT_EQ(told({"width reached", "своё"}).ru, "своё");
  for (const char* foreign : {"", "{}", "width reached at last", "a reason of a plug-in: 7"})
    EXPECT_EQ(sentence(foreign).ru, foreign);
}

TEST(Words, OfTheEnvironmentAreToldWithTheirHeads) {
  EXPECT_EQ(word_title("version nft").ru, "версия nft");
  EXPECT_EQ(word_title("pinning sender").ru, "привязка: передатчик");
  EXPECT_EQ(word_title("path7").en, "path 7");
  EXPECT_EQ(word_title("something else").ru, "something else");
}

TEST(Words, KpisOfSuitesHaveTitles) {
  EXPECT_EQ(value_info("reset_ratio_limit").title.ru, "сброшенных соединений, допустимо");
  EXPECT_EQ(value_info("reset_ratio_limit").unit, Unit::kRatio);
  EXPECT_EQ(value_info("quick-ndr_lower_pps").title.ru, "quick-ndr, нижняя граница");
  EXPECT_EQ(value_info("quick-ndr_lower_pps").unit, Unit::kPps);
  EXPECT_EQ(value_info("throughput_upper_pps").better, Better::kNeither);
  EXPECT_EQ(value_info("failed_per_s").better, Better::kLower);
}

// An axis chooses its unit: "delay, ns" above ticks in microseconds would be wrong a thousand
// times.
TEST(Words, AxisTitlesNameNoUnitThatTheAxisChooses) {
  EXPECT_EQ(axis_title({"CPU time, ns", "время CPU, нс"}, Unit::kNanoseconds).en, "CPU time");
  EXPECT_EQ(axis_title({"CPU time, ns", "время CPU, нс"}, Unit::kNanoseconds).ru, "время CPU");
  EXPECT_EQ(axis_title({"RX, frames per second", "RX, кадров в секунду"}, Unit::kPps).ru, "RX");
  EXPECT_EQ(axis_title({"loss, %", "потери, %"}, Unit::kRatio).en, "loss, %");
  EXPECT_EQ(axis_title({"loss", "потери"}, Unit::kRatio).ru, "потери, %");
  EXPECT_EQ(axis_title({"latency, p99", "задержка, p99"}, Unit::kMicroseconds).en, "latency, p99");
  EXPECT_EQ(axis_title({}, Unit::kRatio).en, "");
}

TrialResult trial_of(const std::string& row, int number) {
  TrialResult t;
  t.spec.row = row;
  t.spec.id = row + ".t" + std::to_string(number);
  t.frames.offered = t.frames.received = 1000;
  return t;
}

TEST(Values, DevicesOfOneLabelAreToldApart) {
  lab::Run run;
  for (const char* topology : {"path7", "chain3"}) {
    Row row;
    row.id = topology;
    row.device.driver = "merlon";
    row.device.mode = "wire";
    row.device.topology = topology;
    run.rows.push_back(row);
  }
  Row alone;
  alone.id = "alone";
  alone.device.driver = "bridge";
  alone.device.topology = "path7";
  run.rows.push_back(alone);
  const RunIndex index(run);
  EXPECT_EQ(index.device_name(run.rows[0]).en, "Merlon wire, path 7");
  EXPECT_EQ(index.device_name(run.rows[1]).ru, "Merlon wire, за двумя мостами");
  EXPECT_EQ(index.device_name(run.rows[2]).en, "Linux bridge");
}

TEST(Values, OptionsThatOnlySomeHaveTellThemApart) {
  lab::Run run;
  run.rows.resize(2);
  for (Row& row : run.rows) row.device.driver = "merlon";
  run.rows[1].device.options = {{"function", "offload"}, {"config", "long\ntext"}};
  const RunIndex index(run);
  EXPECT_EQ(index.device_name(run.rows[0]).en, "Merlon");
  EXPECT_EQ(index.device_name(run.rows[1]).ru, "Merlon, аппаратная разгрузка");
}

// What the sender could not send in time is loss too, though no frame of it was lost on the way.
TEST(Values, UnsentFramesAreNotTakenForNoLoss) {
  lab::Run run;
  run.rows.resize(1);
  run.rows[0].id = "r";
  run.trials = {trial_of("r", 1), trial_of("r", 2), trial_of("r", 3)};
  EXPECT_EQ(row_loss_text(RunIndex(run), run.rows[0]), "0 (<\u00a00.1\u00a0%)");
  for (TrialResult& t : run.trials) t.loss_ratio = 0.3;
  EXPECT_EQ(row_loss_text(RunIndex(run), run.rows[0]), "30\u00a0%");
  run.trials[0].loss_ratio = run.trials[1].loss_ratio = 0;
  EXPECT_EQ(row_loss_text(RunIndex(run), run.rows[0]), "0\u00a0% [0\u00a0% … 30\u00a0%]");
  run.trials.clear();
  EXPECT_EQ(row_loss_text(RunIndex(run), run.rows[0]), "–");
}

}  // namespace
}  // namespace merlon::lab::report
