// The versions of a table as a time line: rows added and removed, who and what, and what old versions hold.

import { ask } from "./api.js";
import { grid, h, problem, s, section } from "./dom.js";
import { ago, count, short, size, time } from "./format.js";

const HALF = 44;

export function versionsSection(table, signal) {
  const place = h("div");
  show(place, table, signal);
  const { old } = table;
  const note = old.count
    ? `${count(old.count)} old versions, from ${time(old.since)} UTC on, hold ${old.is_exact ? "" : "at least "}${size(old.bytes)} that the newest does not need`
      + (old.expired ? `; a vacuum with its default of seven days frees ${size(old.expired_bytes)}.` : `; a vacuum with its default of seven days takes none yet.`)
    : "There are no old versions.";
  return section("versions", "Versions", h("p", { class: "under" }, note), place);
}

async function show(place, table, signal) {
  try {
    const first = await ask("versions", { table: table.table, limit: 60 }, signal);
    const rows = [...first.rows];
    const chart = h("div", { class: "map" });
    const list = grid("Versions", columns(), first.rows);
    const more = h("p", { class: "more" });
    const offer = (next) => more.replaceChildren(...(next ? [h("button", { onclick: () => page(next) }, "Older versions")] : []));
    const page = async (before) => {
      const answer = await ask("versions", { table: table.table, before, limit: 60 }, signal);
      rows.push(...answer.rows);
      list.addRows(answer.rows);
      chart.replaceChildren(draw(rows));
      offer(answer.next);
    };
    chart.replaceChildren(draw(rows));
    offer(first.next);
    place.replaceChildren(
      h("p", null, h("span", { class: "key" }, h("span", { class: "swatch" }), "rows added"), h("span", { class: "key" }, h("span", { class: "swatch removed" }), "rows removed")),
      chart, h("div", { class: "wide" }, list), more);
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(problem(error));
  }
}

function columns() {
  const signed = (number, sign) => (number ? `${sign}${count(number)}` : "");
  return [
    { head: "Version", class: "number", value: (v) => count(v.version) },
    { head: "When (UTC)", class: "short", value: (v) => h("time", { title: ago(v.time) }, time(v.time)) },
    { head: "Operation", class: "short", value: (v) => v.operation },
    { head: "Rows +", class: "number", value: (v) => signed(v.rows_added, "+") },
    { head: "Rows −", class: "number", value: (v) => signed(v.rows_removed, "−") },
    { head: "Rows", class: "number", value: (v) => count(v.rows) },
    { head: "Files", class: "number", value: (v) => count(v.files) },
    { head: "Left behind", class: "number", value: (v) => (v.bytes_removed ? size(v.bytes_removed) : "") },
    { head: "Who", class: "short", value: (v) => [v.user_name, v.door ? `(${v.door})` : null].filter(Boolean).join(" ") },
    { head: "What", class: "mono whole", value: (v) => v.statement ?? v.application_name ?? v.summary ?? "" },
  ];
}

/** Bars of versions, the oldest at the left: rows added upwards, rows removed downwards. */
function draw(rows) {
  const all = [...rows].reverse();
  const narrow = innerWidth < 640;
  const width = narrow ? 340 : 1240;
  const across = Math.min(24, width / all.length);
  const most = Math.max(1, ...all.map((v) => Math.max(v.rows_added ?? 0, v.rows_removed ?? 0)));
  const tall = (number) => (number ? Math.max(1.5, (Math.sqrt(number / most)) * (HALF - 2)) : 0);
  const label = `Rows added and removed by versions ${all[0].version} to ${all[all.length - 1].version}, at most ${count(most)}. The table below has the numbers.`;
  const bottom = HALF + Math.max(3, ...all.map((v) => tall(v.rows_removed))); // where the bars end
  const svg = s("svg", { viewBox: `0 0 ${width} ${bottom + 18}`, role: "img", "aria-label": label });
  svg.append(s("line", { class: "baseline", x1: 0, x2: across * all.length, y1: HALF, y2: HALF }));
  all.forEach((v, i) => {
    const [x, wide] = [(i * across).toFixed(2), Math.max(0.5, across - 1.5).toFixed(2)];
    const [up, down] = [tall(v.rows_added), tall(v.rows_removed)];
    svg.append(s("g", null,
      s("title", null, `Version ${v.version}, ${time(v.time)} UTC, ${v.operation}: +${short(v.rows_added ?? 0)}, −${short(v.rows_removed ?? 0)} rows`),
      s("rect", { class: "added", x, y: (HALF - up).toFixed(2), width: wide, height: up.toFixed(2) }),
      s("rect", { class: "removed", x, y: HALF, width: wide, height: down.toFixed(2) }),
      up || down ? null : s("circle", { class: "added", cx: (i * across + (across - 1.5) / 2).toFixed(2), cy: HALF, r: 1.5 })));
  });
  svg.append(s("text", { x: 0, y: bottom + 14 }, time(all[0].time)));
  if (all.length > 12) svg.append(s("text", { x: across * all.length, y: bottom + 14, "text-anchor": "end" }, time(all[all.length - 1].time)));
  return svg;
}
