// SPDX-License-Identifier: Apache-2.0
// Sentences that trials and searches keep in English, told in Russian. "{}" stands for whatever
// stands there, figures mostly.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "words.h"

namespace merlon::lab::report {
namespace {

struct Sentence {
  std::string_view en, ru;
};

constexpr std::array kSentences{
    // Stamps: lab_traffic.
    Sentence{"interrupted", "прервано"},
    Sentence{"the sender's port took no frame", "порт передатчика не принял ни одного кадра"},
    Sentence{"{} % of {} frames were still unsent {} ms after the end; {} % of the time went into "
             "handing frames to the port, the sender was kept from its core for {} ms at most",
             "{} % из {} кадров не отправлены и через {} мс после конца; {} % времени ушло на "
             "передачу кадров порту, передатчик оставался без ядра не дольше {} мс"},
    Sentence{"the port refused {} frames; the sender, kept from its core for {} ms, had sent {} "
             "late ones at once",
             "порт не принял кадров: {}; передатчик, остававшийся без ядра {} мс, отправил сразу "
             "все опоздавшие: {}"},
    Sentence{"{} frames were lost in the tester's own receiving port; the receiver was kept from "
             "its core for {} ms at most",
             "потеряно в собственном приёмном порту тестера кадров: {}; приёмник оставался без "
             "ядра не дольше {} мс"},
    // Stamps: lab_run.
    Sentence{"the device runs in the sender's time (inline): {}pps were offered where the null "
             "path takes {}pps",
             "устройство работает во времени передатчика (inline): подано {}pps, прямой путь "
             "принимает {}pps"},
    Sentence{"{}pps are within {} % of the null path's ceiling of {}pps",
             "{}pps — выше {} % предела прямого пути ({}pps)"},
    Sentence{"the device died during the trial", "устройство умерло во время испытания"},
    Sentence{"the device passed no frame at all", "устройство не пропустило ни одного кадра"},
    // Stamps: lab_host.
    Sentence{"the host took {} % of core {} (steal)", "хост отнял {} % времени ядра {} (steal)"},
    Sentence{"a measuring thread on core {} was kept from running for {} ms",
             "измеряющий поток на ядре {} не получал процессор {} мс"},
    Sentence{"other processes used {} % of the measuring cores: {}",
             "другие процессы заняли {} % времени измеряющих ядер: {}"},
    Sentence{"other processes used {} % of the measuring cores",
             "другие процессы заняли {} % времени измеряющих ядер"},
    // Stamps: lab_tcp.
    Sentence{"the ports took {} of {} segments", "порты приняли сегментов: {} из {}"},
    Sentence{"{} of {} scheduled connections were not opened in time",
             "не открыты вовремя {} из {} намеченных соединений"},
    Sentence{"{} connections found the tester's table full",
             "соединений, которым не хватило места в таблице тестера: {}"},
    Sentence{"{} SYNs found the servers' table full",
             "SYN, которым не хватило места в таблице серверов: {}"},
    Sentence{"half of the connections were opened {} ms late or more",
             "половина соединений открыта с опозданием в {} мс и больше"},
    Sentence{"the tester was busy {} % of sustain, {} % of it with TLS of its own ends",
             "тестер был занят {} % фазы удержания, из них {} % — TLS собственных концов"},
    // Caveats: lab_device.
    Sentence{
        "container-equivalent: the guest is a network namespace, without the cost of virtual "
        "hardware",
        "контейнерный эквивалент: гость — сетевое пространство имён, без затрат на виртуальное "
        "оборудование"},
    Sentence{"functional only: the guest's processor is emulated (TCG), so its rates and delays "
             "are the emulator's",
             "только проверка работоспособности: процессор гостя эмулируется (TCG), скорости и "
             "задержки — эмулятора"},
    Sentence{"the trial failed", "испытание не удалось"},
    // Ends of searches: lab_search.
    Sentence{"width reached", "достигнута ширина"},
    Sentence{"maximum passes", "наибольшая нагрузка проходит"},
    Sentence{"minimum fails", "наименьшая нагрузка не проходит"},
    Sentence{"tester limit", "предел тестера"},
    Sentence{"time budget", "вышло время"},
    Sentence{"trial limit", "исчерпано число испытаний"},
    Sentence{"unusable trials", "испытания непригодны"},
};

// Reasons of rows that hold reasons of trials: lab_run.
constexpr std::array kFrames{
    Sentence{"{} ({} times; last in trial {}) (its log and commands are in the output folder)",
             "{} (раз: {}; последний — в испытании {}); журнал и команды — в папке вывода"},
    Sentence{"{} (its log and commands are in the output folder)",
             "{}; журнал и команды — в папке вывода"},
};

// What stands for each "{}" of `pattern` in `text`; nothing when the text is another one. Read from
// the right: what a sentence begins with may be another sentence that has the same words.
std::optional<std::vector<std::string_view>> holes(std::string_view pattern,
                                                   std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t hole = pattern.rfind("{}");
  if (hole == std::string_view::npos) return text == pattern ? std::optional(out) : std::nullopt;
  if (!text.ends_with(pattern.substr(hole + 2))) return std::nullopt;
  text.remove_suffix(pattern.size() - hole - 2);
  while (hole != std::string_view::npos) {
    pattern = pattern.substr(0, hole);
    hole = pattern.rfind("{}");
    const bool is_first = hole == std::string_view::npos;
    const std::string_view literal = is_first ? pattern : pattern.substr(hole + 2);
    const std::size_t at =
        is_first ? (text.starts_with(literal) ? 0 : std::string_view::npos) : text.rfind(literal);
    if (at == std::string_view::npos || at + literal.size() == text.size()) return std::nullopt;
    out.push_back(text.substr(at + literal.size()));
    text = text.substr(0, at);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::string filled(std::string_view pattern, const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) {
    const std::size_t hole = pattern.find("{}");
    out.append(pattern.substr(0, hole)).append(sentence(word).ru);  // one may hold another
    pattern.remove_prefix(hole + 2);
  }
  return out.append(pattern);
}

template <class List>
std::optional<std::string> in_russian(const List& list, std::string_view english) {
  for (const Sentence& s : list)
    if (const auto words = holes(s.en, english)) return filled(s.ru, *words);
  return std::nullopt;
}

// Several sentences in a row come before one: the last hole of one would take in all that follow.
std::optional<std::string> row_in_russian(std::string_view english) {
  constexpr std::string_view kAnd = "; ";
  for (std::size_t at = english.find(kAnd); at != std::string_view::npos;
       at = english.find(kAnd, at + 1))
    if (const auto first = in_russian(kSentences, english.substr(0, at)))
      return *first + "; " + sentence(english.substr(at + kAnd.size())).ru;
  return std::nullopt;
}

}  // namespace

Text sentence(std::string_view english) {
  auto russian = in_russian(kFrames, english);
  if (!russian) russian = row_in_russian(english);
  if (!russian) russian = in_russian(kSentences, english);
  return russian ? Text{std::string(english), *russian} : same(english);
}

Text told(const Text& text) {
  return text.ru.empty() || text.ru == text.en ? sentence(text.en) : text;
}

}  // namespace merlon::lab::report
