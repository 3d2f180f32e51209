// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/tcp.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tcp_script.h"

namespace merlon::flow {
namespace {

using testing::parse_step;
using testing::TcpScript;
using testing::TcpStep;

// Handshakes that scenarios begin with. Plain: windows of 65,535 octets. Scaled: both sides shift
// by 7, so that a window of 512 is 65,536 octets.
#define HANDSHAKE "> S 0 = open syn_sent; < SA 0 1 = ok syn_received; > A 1 1 = ok established; "
#define SCALED                                                                                \
  "> S 0 w64000 s7 = open syn_sent; < SA 0 1 w64000 s7 = ok syn_received; > A 1 1 w512 = ok " \
  "established; "                                                                             \
  "< A 1 1 w512 = ok established; "
#define CLOSED                                                                          \
  HANDSHAKE                                                                             \
  "> FA 1 1 = ok fin_wait; < A 1 2 = ok fin_wait; < FA 1 2 = ok closing; > A 2 2 = ok " \
  "time_wait; "

struct Scenario {
  const char* name;
  const char* source;
  const char* steps;
  WindowCheck window = WindowCheck::kStrict;
  bool allow_midstream = false;
};

constexpr auto kLoose = WindowCheck::kLoose;
constexpr auto kOff = WindowCheck::kOff;
constexpr auto kStrict = WindowCheck::kStrict;

const Scenario kScenarios[] = {
    // Opening
    {"Handshake", "RFC 9293 3.5",
     HANDSHAKE "> PA 1:100 1 = ok established; < A 1 101 = ok established"},
    {"OnlySynOpens_Ack", "RFC 9293 3.10.7.1", "> A 1 1 = tcp_not_syn"},
    {"OnlySynOpens_SynAck", "RFC 9293 3.10.7.1", "> SA 1 1 = tcp_not_syn"},
    {"OnlySynOpens_Rst", "RFC 9293 3.10.7.1", "> R 1 = tcp_not_syn"},
    {"OnlySynOpens_Fin", "RFC 9293 3.10.7.1", "> FA 1 1 = tcp_not_syn"},
    {"SynRetransmitted", "RFC 9293 3.8.1",
     "> S 0 = open; > S 0 = ok syn_sent; < SA 0 1 = ok syn_received"},
    {"SynWithNewNumber", "RFC 9293 3.5",
     "> S 0 = open; > S 90000 = ok syn_sent; < SA 0 1 = tcp_window; < SA 0 90001 = ok "
     "syn_received"},
    {"SynAckRetransmitted", "RFC 9293 3.8.1",
     "> S 0 = open; < SA 0 1 = ok; < SA 0 1 = ok syn_received; > A 1 1 = ok established; < SA 0 1 "
     "= ok established"},
    {"SynAckAcknowledgesNothingSent", "RFC 9293 3.10.7.3",
     "> S 0 = open; < SA 0 2 = tcp_window syn_sent"},
    {"SynAckFromTheInitiator", "RFC 9293 3.10.7.3", "> S 0 = open; > SA 0 1 = tcp_state syn_sent"},
    {"SynAckChosenAgain", "RFC 4987 3.6",
     "> S 0 = open; < SA 0 1 = ok; < SA 7777 1 = ok syn_received; > A 1 7778 = ok established"},
    {"SynAckChangedAfterAck", "RFC 5961 4",
     HANDSHAKE "< SA 100000 1 = tcp_syn_in_session established"},
    {"HandshakeAckMustNameTheNumber", "RFC 9293 3.10.7.4",
     "> S 0 = open; < SA 0 1 = ok; > A 1 0 = tcp_window syn_received; > A 1 2 = tcp_window "
     "syn_received; > A 1 1 = ok established"},
    {"DataBeforeTheAnswer", "RFC 9293 3.10.7.3",
     "> S 0 = open; > PA 1:10 1 = tcp_state syn_sent; < PA 1:10 1 = tcp_state syn_sent"},
    {"SimultaneousOpen", "RFC 9293 3.5 figure 8",
     "> S 0 = open; < S 0 = ok syn_received; > SA 0 1 = ok syn_received; < SA 0 1 = ok "
     "established; > PA 1:5 1 = ok established"},
    {"SimultaneousOpenRetransmits", "RFC 9293 3.5 figure 8",
     "> S 0 = open; < S 0 = ok syn_received; < S 0 = ok; > S 0 = ok syn_received; > SA 0 1 = ok; > "
     "SA 0 1 = ok; < SA 0 1 = ok established"},
    {"SynWithData", "RFC 9293 3.5",
     "> S 0:50 = open; < SA 0 51 = ok syn_received; > A 51 1 = ok established"},
    {"FastOpenDataTaken", "RFC 7413 4.2",
     "> S 0:500 = open; < SA 0:10 501 = ok syn_received; < PA 11:1000 501 = ok syn_received; > A "
     "501 1011 = ok established"},
    {"FastOpenDataRefused", "RFC 7413 4.2",
     "> S 0:500 = open; < SA 0 1 = ok syn_received; > PA 1:500 1 = ok established; < A 1 501 = ok "
     "established"},
    {"FastOpenFallsBackToPlainSyn", "RFC 7413 4.2",
     "> S 0:500 = open; > S 0 = ok syn_sent; < SA 0 1 = ok; > A 1 1 = ok established"},
    {"ServerSpeaksBeforeTheLastAck", "RFC 7413 4.2",
     "> S 0 = open; < SA 0 1 = ok; < PA 1:20 1 = ok syn_received; > A 1 21 = ok established"},
    {"PeerHasAnOlderConnection", "RFC 9293 3.5.1 figure 10",
     "> S 0 = open; < A 500 -900 = ok syn_sent; > R -900 = ok syn_sent; > S 0 = ok syn_sent; < SA "
     "0 1 = ok syn_received"},
    {"OlderConnectionRstMustMatch", "RFC 9293 3.5.1",
     "> S 0 = open; < A 500 -900 = ok; > R -901 = tcp_rst_window syn_sent"},
    // Windows
    {"DataInWindow", "RFC 9293 3.4",
     HANDSHAKE "> PA 1:1460 1 = ok; > PA 1461:1460 1 = ok; < A 1 2921 = ok established"},
    {"RightEdge", "RFC 9293 3.4",
     HANDSHAKE "> A 1:65535 1 = ok; > A 65536:2 1 = tcp_window established"},
    {"BeyondTheWindow", "RFC 9293 3.4",
     HANDSHAKE
     "> PA 70000:10 1 = tcp_window established; < PA 70000:10 1 = tcp_window established"},
    {"OlderThanTheWindow", "RFC 9293 3.4",
     HANDSHAKE "> A 1:60000 1 = ok; < A 1 60001 = ok; > A 60001:60000 1 = ok; < A 1 120001 = ok; > "
               "A 1:10 1 = tcp_window"},
    {"Retransmission", "RFC 9293 3.8.1",
     HANDSHAKE "> PA 1:1000 1 = ok; > PA 1:1000 1 = ok established"},
    {"AckOfDataNeverSent", "RFC 5961 5",
     HANDSHAKE "< A 1 2 = tcp_window; > A 1 5000 = tcp_window established"},
    {"AckFarTooOld", "RFC 5961 5",
     HANDSHAKE
     "> A 1:60000 1 = ok; < A 1 60001 = ok; > A 60001:60000 1 = ok; < A 1 1 = tcp_window"},
    {"ReorderedAck", "RFC 9293 3.8",
     HANDSHAKE
     "> PA 1:1000 1 = ok; > PA 1001:1000 1 = ok; < A 1 2001 = ok; < A 1 1001 = ok established"},
    {"LostAckOnTheFarSide", "van Rooij 2000",
     HANDSHAKE "> PA 1:1000 1 = ok; > PA 1001:1000 1 = ok; > PA 2001:1000 1 = ok; < A 1 3001 = ok "
               "established"},
    {"SackHoles", "RFC 2018",
     HANDSHAKE "> PA 1:1000 1 = ok; > PA 2001:1000 1 = ok; < A 1 1001 = ok; > PA 3001:1000 1 = ok; "
               "< A 1 1001 = ok; > PA 1001:1000 1 = ok; < A 1 4001 = ok established"},
    {"Reordering", "RFC 9293 3.4",
     HANDSHAKE "> PA 5001:1000 1 = ok; > PA 1:1000 1 = ok; > PA 1001:1000 1 = ok established"},
    {"NoAckFlag", "RFC 9293 3.10.7.4", HANDSHAKE "> P 1:10 = tcp_state established"},
    {"KeepAliveWithoutData", "RFC 9293 3.8.4",
     HANDSHAKE "> PA 1:100 1 = ok; < A 1 101 = ok; > A 100 1 = ok; < A 1 101 = ok established"},
    {"KeepAliveWithOneOctet", "RFC 9293 3.8.4",
     HANDSHAKE "> PA 1:100 1 = ok; < A 1 101 = ok; > A 100:1 1 = ok; < A 1 101 = ok established"},
    {"ZeroWindowProbe", "RFC 9293 3.8.6.1",
     HANDSHAKE "> A 1:65535 1 = ok; < A 1 65536 w0 = ok; > A 65536:1 1 = ok; < A 1 65536 w0 = ok; "
               "> A 65536:1 1 = ok established"},
    {"ZeroWindowProbeOfTwoOctets", "RFC 9293 3.8.6.1",
     HANDSHAKE "> A 1:65535 1 = ok; < A 1 65536 w0 = ok; > A 65536:2 1 = tcp_window"},
    {"WindowReopens", "RFC 9293 3.8.6",
     HANDSHAKE "> A 1:65535 1 = ok; < A 1 65536 w0 = ok; < A 1 65536 w1000 = ok; > A 65536:1000 1 "
               "= ok; > A 66536:2 1 = tcp_window"},
    {"ShrunkWindowIsTolerated", "RFC 9293 3.8.6",
     HANDSHAKE "< A 1 1 w10 = ok; > A 1:1000 1 = ok established"},
    {"UrgentUntouched", "RFC 6093", HANDSHAKE "> PAU 1:10 1 = ok; < A 1 11 = ok established"},
    // Scaling
    {"ScaledWindow", "RFC 7323 2.3",
     SCALED "> A 1:65536 1 w512 = ok; > A 65537:2 1 w512 = tcp_window established"},
    {"SynWindowsAreNotScaled", "RFC 7323 2.2",
     "> S 0 w1000 s7 = open; < SA 0 1 w1000 s7 = ok; > A 1 1 w8 = ok; > A 1:1000 1 w8 = ok; > A "
     "1001:2 1 w8 = tcp_window"},
    {"ScaleOfferedOnly", "RFC 7323 2.2",
     "> S 0 w1000 s7 = open; < SA 0 1 w1000 = ok; > A 1 1 w1000 = ok; < A 1:1000 1 w1000 = ok; < A "
     "1001:2 1 w1000 = tcp_window"},
    {"ScaleAnsweredOnly", "RFC 7323 2.2",
     "> S 0 w1000 = open; < SA 0 1 w1000 s7 = ok; > A 1 1 w1000 = ok; < A 1:1000 1 w1000 = ok; < A "
     "1001:2 1 w1000 = tcp_window"},
    {"ScaleZeroCounts", "RFC 7323 2.2",
     "> S 0 w1000 s3 = open; < SA 0 1 w1000 s0 = ok; > A 1 1 w1000 = ok; < A 1:8000 1 w1000 = ok; "
     "< A 8001:2 1 = tcp_window"},
    {"ScaleAboveFourteen", "RFC 7323 2.3",
     "> S 0 w1 s200 = open; < SA 0 1 w1 s0 = ok; > A 1 1 w1 = ok; < A 1:16384 1 = ok; < A 16385:2 "
     "1 = tcp_window"},
    // RST
    {"RstExact", "RFC 5961 3.2", HANDSHAKE "> PA 1:100 1 = ok; > R 101 = ok reset"},
    {"RstExactFromResponder", "RFC 5961 3.2", HANDSHAKE "< RA 1 1 = ok reset"},
    {"RstInWindowNotExact", "RFC 5961 3.2",
     HANDSHAKE "> R 2 = tcp_rst_window established; > R 60000 = tcp_rst_window established; < R "
               "30000 = tcp_rst_window established"},
    {"RstOutOfWindow", "RFC 5961 3.2",
     HANDSHAKE "> R 90000 = tcp_rst_window established; > R -90000 = tcp_rst_window established"},
    {"RstAfterInexactOneStillOneGuess", "RFC 5961 3.2",
     HANDSHAKE "> R 500 = tcp_rst_window; > R 500 = tcp_rst_window established"},
    {"RstAnswersSegmentAfterLoss", "RFC 9293 3.10.7.1",
     HANDSHAKE "> PA 1:100 1 = ok; > PA 101:100 1 = ok; < PA 1:10 101 = ok; > R 101 = "
               "tcp_rst_window established; < PA 1:10 101 = ok; > R 101 = ok reset"},
    {"RstAfterFinByOldNumber", "RFC 9293 3.10.7.1",
     HANDSHAKE "> FA 1 1 = ok fin_wait; < PA 1:100 1 = ok fin_wait; > R 1 = ok reset"},
    {"RstAnswersSyn", "RFC 9293 3.10.7.3", "> S 0 = open; < RA 0 1 = ok reset"},
    {"RstAnswersSynWithWrongAck", "RFC 9293 3.10.7.3",
     "> S 0 = open; < RA 0 2 = tcp_rst_window syn_sent; < R 0 = tcp_rst_window syn_sent"},
    {"RstByInitiatorWhileOpening", "RFC 9293 3.10.7.3", "> S 0 = open; > R 1 = ok reset"},
    {"RstInSynReceived", "RFC 5961 3.2",
     "> S 0 = open; < SA 0 1 = ok; > R 2 = tcp_rst_window syn_received; > R 1 = ok reset"},
    {"RstFromForgetfulServer", "RFC 9293 3.10.7.1",
     "> S 0 = open; < SA 0 1 = ok; > S 0 = ok; < RA -5000 1 = ok reset"},
    {"RstAgain", "RFC 9293 3.10.7.1",
     HANDSHAKE "> R 1 = ok reset; > R 1 = ok reset; < R 900000 = tcp_rst_window reset"},
    {"SegmentAfterRstIsHeardOnce", "RFC 9293 3.10.7.1",
     HANDSHAKE "> R 1 = ok reset; < PA 1:10 1 = ok reset; < PA 900000:10 1 = tcp_window reset"},
    {"RstInTimeWait", "RFC 1337",
     CLOSED "> R 2 = ok time_wait; < R 900000 = tcp_rst_window time_wait"},
    // SYN in a session
    {"SynInSessionIsForwardedWithoutEffect", "RFC 5961 4.2",
     HANDSHAKE
     "> S 777777 = ok established; < A 1 1 = ok established; > PA 1:10 1 = ok established"},
    {"RebootedClientIsHeard", "RFC 5961 4.2",
     HANDSHAKE "> PA 1:10 1 = ok; < A 1 11 = ok; > S 777777 = ok established; < A 1 11 = ok "
               "established; > R 11 = ok reset; > S 777777 = replace"},
    {"BothRebooted", "RFC 5961 4.2",
     HANDSHAKE "> S 777777 = ok established; < SA 555555 777778 = replace"},
    {"SynAckAnswersNothing", "RFC 5961 4.2",
     HANDSHAKE "> S 777777 = ok; < SA 555555 777779 = tcp_syn_in_session established"},
    {"RebootedClientIsRefused", "RFC 5961 4.2",
     HANDSHAKE "> S 777777 = ok; < RA 555555 777778 = ok established"},
    {"PendingSynEndsWithLife", "RFC 5961 4.2",
     HANDSHAKE
     "> S 777777 = ok; > PA 1:10 1 = ok; < SA 555555 777778 = tcp_syn_in_session established"},
    {"SynByTheResponder", "RFC 5961 4.2", HANDSHAKE "< S 777777 = tcp_syn_in_session established"},
    // Closing
    {"CloseByInitiator", "RFC 9293 3.6 figure 12", CLOSED},
    {"CloseByResponder", "RFC 9293 3.6",
     HANDSHAKE "< FA 1 1 = ok fin_wait; > FA 1 2 = ok closing; < A 2 2 = ok time_wait"},
    {"SimultaneousClose", "RFC 9293 3.6 figure 13",
     HANDSHAKE
     "> FA 1 1 = ok fin_wait; < FA 1 1 = ok closing; > A 2 2 = ok closing; < A 2 2 = ok time_wait"},
    {"HalfClosedStaysInUse", "RFC 9293 3.6",
     HANDSHAKE "> FA 1 1 = ok fin_wait; < A 1 2 = ok fin_wait; < PA 1:1000 2 = ok fin_wait; > A 2 "
               "1001 = ok fin_wait; < FA 1001 2 = ok closing; > A 2 1002 = ok time_wait"},
    {"DataAfterFin", "RFC 9293 3.10.7.4",
     HANDSHAKE "> FA 1 1 = ok fin_wait; > PA 2:10 1 = tcp_state fin_wait"},
    {"RetransmissionAfterFin", "RFC 9293 3.8.1",
     HANDSHAKE
     "> PA 1:10 1 = ok; > FA 11 1 = ok fin_wait; > PA 1:10 1 = ok; > FA 11 1 = ok fin_wait"},
    {"FinWithData", "RFC 9293 3.10.7.4",
     HANDSHAKE "> FA 1:100 1 = ok fin_wait; < A 1 101 = ok; < A 1 102 = ok fin_wait; < FA 1 102 = "
               "ok; > A 102 2 = ok time_wait"},
    {"FinBeforeReorderedData", "RFC 9293 3.4",
     HANDSHAKE "> FA 101 1 = ok fin_wait; > PA 1:100 1 = ok fin_wait; < A 1 102 = ok fin_wait"},
    {"FinOutOfWindow", "RFC 9293 3.4", HANDSHAKE "> FA 900000 1 = tcp_window established"},
    {"FinInTimeWaitAgain", "RFC 9293 3.10.7.8",
     CLOSED "< FA 1 2 = ok time_wait; > A 2 2 = ok time_wait"},
    {"SynInTimeWaitBeyondTheOldEnd", "RFC 9293 3.6.1", CLOSED "> S 70000 = replace time_wait"},
    {"SynInTimeWaitByTheOtherSide", "RFC 9293 3.6.1", CLOSED "< S 70000 = replace time_wait"},
    {"SynInTimeWaitBelowTheOldEnd", "RFC 6191",
     CLOSED "> S -70000 = ok time_wait; < A 2 2 = ok time_wait"},
    {"SynInTimeWaitAnsweredAnyway", "RFC 6191",
     CLOSED "> S -70000 = ok time_wait; < SA 5000 -69999 = replace time_wait"},
    {"SynAfterReset", "RFC 9293 3.10.7.1", HANDSHAKE "> R 1 = ok reset; > S 5 = replace"},
    {"FinBeforeTheHandshakeEnds", "RFC 9293 3.10.4",
     "> S 0 = open; < SA 0 1 = ok; < FA 1 1 = ok syn_received; > A 1 2 = ok fin_wait"},
    // Mid-stream
    {"MidstreamLearns", "firewall practice",
     "> PA 1000:10 5000 w500 = open midstream; < PA 5000:1460 1010 w500 = ok midstream; > A 1010 "
     "6460 w500 = ok; < PA 6460:1460 1010 w500 = ok; > A 1010 7920 w500 = ok; < PA 7920:10 1010 "
     "w500 = ok established; > PA 1010:10 7930 w500 = ok established",
     kStrict, true},
    {"MidstreamInFlight", "firewall practice",
     "> A 1000 5000 w500 = open midstream; > A 1000 9000 w500 = ok midstream; < PA 9000:10 1000 "
     "w500 = ok midstream",
     kStrict, true},
    {"MidstreamFarAway", "firewall practice",
     "> A 1000 5000 = open midstream; < PA 1600000000:10 1000 = tcp_window midstream", kStrict,
     true},
    {"MidstreamThenEnforced", "firewall practice",
     "> A 0 0 w1 = open; < A 0 0 w1 = ok; > A 0 0 w1 = ok; < A 0 0 w1 = ok; > A 0 0 w1 = ok; < A 0 "
     "0 w1 = ok established; < A 900000:10 0 w1 = tcp_window established; > A 0 1 w1 = tcp_window "
     "established",
     kStrict, true},
    {"MidstreamFin", "firewall practice",
     "> FA 1000 5000 = open fin_wait; < FA 5000 1001 = ok closing; > A 1001 5001 = ok time_wait",
     kStrict, true},
    {"MidstreamRst", "firewall practice", "> PA 1000:10 5000 = open midstream; < R 5000 = ok reset",
     kStrict, true},
    {"MidstreamNotBySynAck", "firewall practice", "> SA 0 1 = tcp_not_syn", kStrict, true},
    // Checks relaxed
    {"LooseForwards", "option",
     HANDSHAKE "> PA 900000:10 1 = ok established; < A 1 900010 = ok established", kLoose},
    {"LooseOneWay", "option",
     "> S 0 = open; > A 1 1 = ok midstream; > PA 1:100 1 = ok midstream; > PA 101:100 300 = ok "
     "midstream",
     kLoose},
    {"LooseRst", "RFC 9293 3.5.2", HANDSHAKE "> R 900000 = ok established; > R 500 = ok reset",
     kLoose},
    {"OffForwards", "option",
     HANDSHAKE "> PA 900000:10 70 = ok established; < R 12345678 = ok reset", kOff},
};

class TcpScenario : public ::testing::TestWithParam<Scenario> {};

// Each scenario is played at several initial sequence numbers, so that every comparison crosses
// both borders of serial arithmetic.
TEST_P(TcpScenario, Plays) {
  const Scenario& c = GetParam();
  constexpr std::uint32_t kStarts[] = {0,          1'000'000,  0x7fffffff,
                                       0x80000000, 0xfffffffe, 0xffff0000};
  for (const std::uint32_t a : kStarts) {
    for (const std::uint32_t b : kStarts) {
      TcpScript script(a, b, {.window = c.window, .allow_midstream = c.allow_midstream});
      std::istringstream in(c.steps);
      std::string text;
      for (unsigned n = 1; std::getline(in, text, ';'); ++n) {
        if (text.find_first_not_of(' ') == std::string::npos) continue;
        const TcpStep step = parse_step(text);
        ASSERT_EQ(script.play(step), step.expectation)
            << c.source << ", step " << n << ":" << text << " from " << a << ", " << b;
        if (!step.state.empty()) {
          ASSERT_EQ(session_state_name(script.session.state), step.state)
              << c.source << ", step " << n << ":" << text;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rfc, TcpScenario, ::testing::ValuesIn(kScenarios),
                         [](const ::testing::TestParamInfo<Scenario>& i) {
                           return std::string(i.param.name);
                         });

TEST(Tcp, FastPathTakesDataAndAcknowledgments) {
  TcpScript s(100, 200, {});
  for (const char* step : {"> S 0 = open", "< SA 0 1 = ok", "> A 1 1 = ok"})
    s.play(parse_step(step));
  s.play(parse_step("> PA 1:1000 1 = ok"));
  EXPECT_TRUE(s.is_fast);
  s.play(parse_step("< A 1 1001 = ok"));
  EXPECT_TRUE(s.is_fast);
  s.play(parse_step("< PA 1:10 1001 = ok"));
  EXPECT_TRUE(s.is_fast);
  s.play(parse_step("> FA 1001 11 = ok"));
  EXPECT_FALSE(s.is_fast);
}

TEST(Tcp, WhatProvesNothingDoesNotRefresh) {
  TcpScript s(100, 200, {});
  for (const char* step : {"> S 0 = open", "< SA 0 1 = ok", "> A 1 1 = ok"})
    s.play(parse_step(step));
  s.play(parse_step("> S 777 = ok"));
  EXPECT_FALSE(s.is_refreshing);
  EXPECT_EQ(s.counters.syn_passed, 1U);
  s.play(parse_step("> PA 1:1 1 = ok"));
  EXPECT_TRUE(s.is_refreshing);
}

TEST(Tcp, LooseCountsWhatItLetsPass) {
  TcpScript s(100, 200, {.window = kLoose});
  for (const char* step : {"> S 0 = open", "< SA 0 1 = ok", "> A 1 1 = ok", "> PA 900000:1 1 = ok"})
    s.play(parse_step(step));
  EXPECT_EQ(s.counters.window_passed, 1U);
}

// The fast path is the slow path's shortcut: on equal sessions both must agree to the bit.
TEST(TcpProperty, FastEqualsSlow) {
  const bool ok = rc::check([] {
    TcpScript s(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::arbitrary<std::uint32_t>(), {});
    for (const char* step : {"> S 0 s3 = open", "< SA 0 1 s5 = ok", "> A 1 1 = ok"})
      s.play(parse_step(step));
    for (int n = 0; n < 50; ++n) {
      const unsigned side = *rc::gen::inRange(0U, 2U);
      packet::Headers h;
      h.tcp_flags = *rc::gen::element<std::uint8_t>(16, 24, 16 | 32, 16 | 64, 17, 20, 0, 18);
      h.payload_length = *rc::gen::inRange<std::uint32_t>(0, 3000);
      h.tcp_sequence = s.session.tcp[side].end +
                       static_cast<std::uint32_t>(*rc::gen::inRange(-70'000, 70'000)) / 2;
      h.tcp_acknowledgment =
          s.session.tcp[side ^ 1].end - *rc::gen::inRange<std::uint32_t>(0, 70'000);
      h.tcp_window = *rc::gen::arbitrary<std::uint16_t>();
      Session fast = s.session;
      Session slow = s.session;
      if (track_tcp_fast(fast, h, side)) {
        const TrackVerdict v = track_tcp_slow(slow, h, side, {}, s.options, s.counters);
        RC_ASSERT(v.what == TrackVerdict::What::kForward && v.is_refreshing);
        RC_ASSERT(std::memcmp(&fast, &slow, sizeof fast) == 0);
        s.session = fast;
      } else {
        RC_ASSERT(std::memcmp(&fast, &s.session, sizeof fast) == 0);
      }
    }
  });
  EXPECT_TRUE(ok);
}

// Any segments at all: states stay those of TCP, the handshake is never skipped, FIN bits agree
// with the state.
TEST(TcpProperty, RandomSegmentsKeepTheInvariants) {
  const bool ok = rc::check([] {
    const auto window = *rc::gen::element(kStrict, kLoose, kOff);
    TcpScript s(0, 0, {.window = window, .allow_midstream = *rc::gen::arbitrary<bool>()});
    std::uint32_t number[2] = {*rc::gen::arbitrary<std::uint32_t>(),
                               *rc::gen::arbitrary<std::uint32_t>()};
    for (int n = 0; n < 60; ++n) {
      TcpStep step;
      step.side = *rc::gen::inRange(0U, 2U);
      step.flags = *rc::gen::inRange<std::uint8_t>(0, 64);
      step.length = *rc::gen::element<std::uint32_t>(0, 0, 1, 100, 65'000);
      step.window = *rc::gen::arbitrary<std::uint16_t>();
      step.shift = *rc::gen::inRange(-1, 20);
      const auto near = [&](std::uint32_t x) {
        return x + static_cast<std::uint32_t>(*rc::gen::inRange(-2, 3));
      };
      const bool is_wild = *rc::gen::inRange(0, 8) == 0;
      step.seq = is_wild ? *rc::gen::arbitrary<std::uint32_t>() : near(number[step.side]);
      step.ack = near(number[step.side ^ 1]);
      const SessionState before = s.session.state;
      s.play(step);
      const SessionState after = s.session.state;
      if (s.session.state != SessionState::kFree) {
        number[0] = s.session.tcp[0].end;
        number[1] = s.session.tcp[1].end;
        RC_ASSERT(after >= SessionState::kSynSent && after <= SessionState::kMidstream);
      }
      RC_ASSERT(!(before == SessionState::kSynSent && after == SessionState::kEstablished));
      RC_ASSERT(!(before == SessionState::kTimeWait && after != SessionState::kTimeWait &&
                  window == kStrict));
      RC_ASSERT(!(before == SessionState::kReset && after != SessionState::kReset));
      const unsigned fins = s.session.tcp_aux & 3U;
      if (after == SessionState::kEstablished) RC_ASSERT(fins == 0);
      if (after == SessionState::kFinWait) RC_ASSERT(fins == 1 || fins == 2);
      if (after == SessionState::kClosing || after == SessionState::kTimeWait) RC_ASSERT(fins == 3);
      if (after == SessionState::kEstablished || after == SessionState::kMidstream)
        RC_ASSERT((s.session.window_scale[0] <= 14 && s.session.window_scale[1] <= 14));
      if (window == kStrict && after == SessionState::kEstablished)
        RC_ASSERT(s.session.tcp[0].max_end - s.session.tcp[0].end + 1 <= 1U << 31);
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace merlon::flow
