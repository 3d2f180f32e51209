// SPDX-License-Identifier: Apache-2.0
// The report's switches, tooltips, trial table and details. The report can be read without it. Texts of the run
// reach the page as text nodes only, never as markup.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const recall = (key) => { try { return localStorage.getItem("merlon-report-" + key); } catch { return null; } };
  const keep = (key, value) => { try { localStorage.setItem("merlon-report-" + key, value); } catch { /* file: may refuse */ } };
  const language = () => root.dataset.lang;
  const say = (en, ru) => (language() === "ru" ? ru : en);

  // Language and theme.
  function showLanguage(lang) {
    root.dataset.lang = root.lang = lang;
    for (const point of $$("[data-en]")) point.setAttribute("aria-label", point.dataset[lang]);
    for (const button of $$("[data-set-lang]")) button.setAttribute("aria-pressed", String(button.dataset.setLang === lang));
  }
  function showTheme(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme; else delete root.dataset.theme;
    for (const button of $$("[data-set-theme]")) button.setAttribute("aria-pressed", String(button.dataset.setTheme === (theme || "auto")));
  }
  const asked = new URLSearchParams(location.hash.replace(/^#\?/, ""));
  const languages = ["en", "ru"];
  const firstLanguage = [asked.get("lang"), recall("lang")].find((l) => languages.includes(l)) || language();
  showLanguage(firstLanguage);
  showTheme(asked.get("theme") || recall("theme") || "auto");
  for (const button of $$("[data-set-lang]"))
    button.addEventListener("click", () => { keep("lang", button.dataset.setLang); showLanguage(button.dataset.setLang); });
  for (const button of $$("[data-set-theme]"))
    button.addEventListener("click", () => { keep("theme", button.dataset.setTheme); showTheme(button.dataset.setTheme); });
  $(".switches").hidden = false;

  // What is folded for the screen is part of a print; the tables of figures and trials are not.
  addEventListener("beforeprint", () => { for (const part of $$("#environment details, main > section > details:not(.row)")) if (!$("#trial-table", part)) part.open = true; });

  // Tooltips of points.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  function showTip(point, x, y) {
    tip.textContent = point.dataset[language()];
    tip.hidden = false;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, y - tip.offsetHeight - 10) + "px";
  }
  document.addEventListener("pointermove", (event) => {
    const point = event.target.closest?.(".pt");
    if (point) showTip(point, event.clientX, event.clientY); else tip.hidden = true;
  });
  document.addEventListener("focusin", (event) => {
    const point = event.target.closest?.(".pt");
    if (!point) { tip.hidden = true; return; }
    const box = point.getBoundingClientRect();
    showTip(point, box.right, box.top);
  });

  // One stop of the tabulator per chart; arrows go from point to point.
  for (const chart of $$("svg.chart")) {
    const points = $$(".pt", chart);
    if (points.length) points[0].setAttribute("tabindex", "0");
    chart.addEventListener("keydown", (event) => {
      const at = points.indexOf(event.target.closest(".pt"));
      if (at < 0) return;
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      let next = step === undefined ? -1 : (at + step + points.length) % points.length;
      if (event.key === "Home") next = 0;
      if (event.key === "End") next = points.length - 1;
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openDetails(points[at]); return; }
      if (next < 0) return;
      event.preventDefault();
      points[at].setAttribute("tabindex", "-1");
      points[next].setAttribute("tabindex", "0");
      points[next].focus();
    });
  }

  // Details of a row or of trials.
  const data = JSON.parse($("#run-data").textContent);
  const text = (i) => data.strings[i];
  const pair = (p) => text(p[language() === "ru" ? 1 : 0]);
  const find = (map, key) => (Object.hasOwn(map, key) ? map[key] : undefined);
  const stamps = [["clean", "clean", "чисто"], ["tester-limited", "tester-limited", "предел тестера"],
    ["contaminated", "contaminated", "загрязнено"], ["failed", "failed", "сбой"]];
  function make(tag, content, css) {
    const element = document.createElement(tag);
    if (css) element.className = css;
    if (content instanceof Node) element.append(content); else if (content !== undefined) element.textContent = content;
    return element;
  }
  function digits(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < 1e-4 || size >= 1e12) return value.toExponential(2);
    const fixed = size >= 1000 || Number.isInteger(value) ? value.toFixed(0) : String(Number(value.toPrecision(4)));
    const [whole, rest] = fixed.split(".");
    return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (rest ? "." + rest : "");
  }
  function nanos(value) {
    if (value >= 1e9) return digits(value / 1e9) + "\u00a0s";
    if (value >= 1e6) return digits(value / 1e6) + "\u00a0ms";
    if (value >= 1e3) return digits(value / 1e3) + "\u00a0µs";
    return digits(value) + "\u00a0ns";
  }
  // Columns after the first `words` of the first row are numbers, and stand to the right.
  function table(head, rows, css) {
    const element = make("table");
    const top = element.createTHead().insertRow();
    const words = rows[0]?.words || 1;
    head.forEach((cell, i) => { const th = make("th", cell, i >= words ? "n" : ""); th.scope = "col"; top.append(th); });
    const body = element.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      if (css) line.className = css(row);
      row.cells.forEach((cell, i) => { const td = line.insertCell(); td.textContent = cell; if (i >= words) td.className = "n"; });
    }
    const frame = make("div", element, "scroll");
    frame.tabIndex = 0;
    return frame;
  }
  // Names with figures that flow, where a table would be one long line.
  function facts(out, title, pairs) {
    const line = make("p", make("b", title));
    for (const [name, value] of pairs) {
      const fact = make("span", name + " ", "kpi");
      fact.append(make("b", value));
      line.append(" ", fact);
    }
    out.append(line);
  }
  function list(out, title, items) {
    if (!items || !items.length) return;
    out.append(make("h4", title));
    out.append(make("pre", items.map(text).join("\n")));
  }
  function timeline(out, trial) {
    if (!trial.timeline) return;
    const svg = (tag, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      return element;
    };
    const most = Math.max(1, ...trial.timeline.map((b) => b[0]));
    const width = trial.timeline.length;
    const drawing = svg("svg", { viewBox: `0 0 ${width} 60`, preserveAspectRatio: "none", class: "timeline", role: "img" });
    drawing.setAttribute("aria-label", say("frames offered and lost over the trial", "подано и потеряно кадров по ходу испытания"));
    trial.timeline.forEach(([offered, lost], i) => {
      const a = (offered / most) * 58, b = Math.min(58, (lost / most) * 58);
      drawing.append(svg("rect", { class: "offered", x: i, y: 60 - a, width: 0.9, height: a }));
      drawing.append(svg("rect", { class: "lost", x: i, y: 60 - b, width: 0.9, height: b }));
    });
    out.append(make("h4", say(`Over time: offered, and lost (orange); ${trial.step_ms} ms a bar`,
      `Во времени: подано и потеряно (оранжевое); столбец — ${trial.step_ms} мс`)), drawing);
  }
  function showTrial(out, id) {
    const trial = find(data.trials, id);
    if (!trial) { out.append(make("p", id + ": " + say("not in this report", "нет в этом отчёте"))); return; }
    const title = make("h3", id + " ");
    const stamp = stamps[trial.stamp];
    title.append(make("span", say(stamp[1], stamp[2]), "badge " + stamp[0]));
    if (trial.warm) title.append(" ", make("small", say("warm-up", "разогрев")));
    out.append(title);
    if (trial.reasons) { const ul = make("ul"); for (const r of trial.reasons) ul.append(make("li", pair(r))); out.append(ul); }
    if (trial.loss) out.append(make("p", pair(trial.loss)));
    const [intended, offered, received, loss, seconds, started] = trial.rates;
    const f = trial.frames;
    const lossText = f[3] === 0 && f[1] > 0 && loss === 0 ? `0 (< ${digits(300 / f[1])} %)` : digits(loss * 100) + " %";
    facts(out, say("Rate, frames/s:", "Частота, кадров/с:"), [[say("intended", "задано"), intended === 0 ? say("the most", "наибольшая") : digits(intended)],
      [say("offered", "подано"), digits(offered)], [say("received", "принято"), digits(received)], [say("loss", "потери"), lossText],
      [say("seconds", "секунд"), digits(seconds)], [say("started, UTC", "начато, UTC"), started > 0 ? new Date(started * 1000).toISOString().slice(0, 19).replace("T", " ") : "–"]]);
    const names = [["intended", "задано"], ["offered", "подано"], ["received", "принято"], ["lost", "потеряно"], ["duplicated", "дубли"], ["reordered", "не по порядку"], ["corrupted", "повреждено"], ["foreign", "чужие"], ["to be dropped", "подлежат отбросу"], ["wrongly passed", "ошибочно пропущено"], ["wrongly dropped", "ошибочно отброшено"]];
    facts(out, say("Frames:", "Кадры:"), names.map((n, i) => [say(...n), digits(f[i])]));
    const spans = [["latency", "from the send stamp", "от метки отправки"], ["scheduled", "from the schedule", "от расписания"], ["lateness", "sender's lateness", "опоздание передатчика"]].filter((s) => trial[s[0]]);
    if (spans.length) out.append(table([say("time", "время"), "n", "min", "p50", "p99", "p99.9", "p99.99", "max"],
      spans.map((s) => ({ cells: [say(s[1], s[2]), digits(trial[s[0]][0]), ...trial[s[0]].slice(1).map(nanos)] }))));
    timeline(out, trial);
    if (trial.layers) out.append(make("h4", say("Counters that moved, by layer", "Изменившиеся счётчики по слоям")),
      table([say("layer", "слой"), say("counter", "счётчик"), say("change", "изменение")],
        trial.layers.map((l) => ({ cells: [text(l[0]), text(l[1]), digits(l[2])], words: 2, loss: l[3] })), (row) => (row.loss ? "lossy" : "")));
    if (trial.processes) out.append(make("h4", say("Processes", "Процессы")),
      table([say("name", "имя"), say("role", "роль"), say("user, s", "user, с"), say("system, s", "system, с"), "MiB", say("switches, own will", "переключения по воле"), say("forced", "вынужденные")],
        trial.processes.map((p) => ({ cells: [text(p[0]), pair(p[1]), ...p.slice(2).map(digits)], words: 2 }))));
    if (trial.cores) out.append(make("h4", say("Cores", "Ядра")),
      table([say("core", "ядро"), say("busy, %", "занято, %"), "softirq, %", "steal, %", say("others, s", "чужие, с"), say("longest gap, µs", "худший пропуск, мкс")],
        trial.cores.map((c) => ({ cells: [c[0], digits(c[1] * 100), digits(c[2] * 100), digits(c[3] * 100), digits(c[4]), digits(c[5])] }))));
    if (trial.kpis) { const dl = make("dl"); for (const [name, value] of trial.kpis) dl.append(make("dt", pair(name)), make("dd", text(value))); out.append(dl); }
    list(out, say("Commands", "Команды"), trial.commands);
  }
  function showRow(out, id, withTrials) {
    const row = find(data.rows, id);
    if (!row) return;
    out.append(make("p", [pair(row.device), pair(row.traffic), text(row.suite)].filter(Boolean).join("; ")));
    if (row.reason) out.append(make("p", pair(row.reason)));
    if (row.why) out.append(make("p", pair(row.why), "warning"));
    const bound = (value) => (value > 0 ? digits(value) : "–");
    if (row.results) out.append(table([say("goal", "цель"), say("ended by", "чем закончен"), say("throughput, frames/s", "пропускная способность, кадров/с"), say("lower bound", "нижняя граница"), say("upper bound", "верхняя граница")],
      row.results.map((r) => ({ words: 2, cells: [text(r[0]), pair(r[5]) + (r[4] ? "" : say(" (irregular)", " (нерегулярно)")), bound(r[1]), bound(r[2]), bound(r[3])] }))));
    for (const outcome of row.paired || []) out.append(make("p", pair(outcome)));
    if (row.kpis) { const dl = make("dl"); for (const [name, value] of row.kpis) dl.append(make("dt", pair(name)), make("dd", text(value))); out.append(dl); }
    list(out, say("Commands that set it up", "Команды настройки"), row.commands);
    if (withTrials) for (const trial of (row.trials || []).slice(0, 100)) showTrial(out, trial);
    if (withTrials && row.trials && row.trials.length > 100)
      out.append(make("p", say("The other trials are in the table.", "Остальные испытания — в таблице.")));
  }
  const dialog = $("#details");
  let opened = null;
  function openDetails(source) {
    const trials = source.dataset.trials ? source.dataset.trials.split(" ") : null;
    const rowId = source.dataset.row || (trials && find(data.trials, trials[0])?.row) || "";
    const row = find(data.rows, rowId);
    if (!row && !trials) return;  // a figure of a comparison
    $("h2", dialog).textContent = row ? pair(row.title) : trials ? trials.join(", ") : rowId;
    const body = $(".body", dialog);
    body.replaceChildren();
    showRow(body, rowId, !trials);
    if (trials) for (const trial of trials) showTrial(body, trial);
    opened = source;
    tip.hidden = true;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }
  $("button", dialog).addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => opened?.focus?.());
  document.addEventListener("click", (event) => {
    const source = event.target.closest?.("[data-row], [data-trials]");
    if (!source || dialog.contains(source)) return;
    event.preventDefault();
    openDetails(source);
  });

  // The trial table: sorting and filters.
  const trialTable = $("#trial-table");
  if (trialTable) {
    const body = trialTable.tBodies[0];
    const rows = Array.from(body.rows);
    const words = rows.map((row) => row.textContent.toLowerCase());
    const number = (cell) => parseFloat(cell.textContent.replace(/[\u202f\u00a0]/g, ""));
    $$("thead th", trialTable).forEach((head, column) => {
      $("button", head)?.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        for (const other of $$("thead th", trialTable)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const isNumber = head.classList.contains("n");
        const keys = new Map(rows.map((row) => [row, isNumber ? number(row.cells[column]) : row.cells[column].textContent]));
        const sorted = rows.slice().sort((a, b) => {
          const x = keys.get(a), y = keys.get(b);
          if (!isNumber) return (down ? -1 : 1) * x.localeCompare(y, undefined, { numeric: true });
          if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
          return down ? y - x : x - y;
        });
        body.append(...sorted);
      });
    });
    const filter = $("#trial-filter"), count = $("#trial-count");
    const apply = () => {
      const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const allowed = new Set($$(".stamp-filter").filter((box) => box.checked).map((box) => box.value));
      let shown = 0;
      rows.forEach((row, i) => {
        const fits = allowed.has(row.classList[0]) && wanted.every((w) => words[i].includes(w));
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      count.textContent = `${shown} / ${rows.length}`;
    };
    filter.addEventListener("input", apply);
    for (const box of $$(".stamp-filter")) box.addEventListener("change", apply);
    apply();
  }
})();
