// One table: its numbers, what it needs, and sections that load by themselves.

import { ask } from "./api.js";
import { grid, h, load, section } from "./dom.js";
import { filterSection } from "./filter.js";
import { ago, count, quantity, size, time } from "./format.js";
import { partitionsSection } from "./partitions.js";
import { adviceSection, queriesSection } from "./records.js";
import { versionsSection } from "./versions.js";

const SHOWN = new Set(["partitions", "files", "rows", "size"]); // facts that stand above

export async function tablePage(main, name, given, signal) {
  const table = await ask("table", { table: name }, signal);
  document.title = `${table.table} · Parquetry`;
  const sections = [
    needsSection(table, signal),
    filterSection(table, given, signal),
    ...(table.partition_by.length ? [partitionsSection(table, signal)] : []),
    versionsSection(table, signal),
    definitionSection(table),
    queriesSection(table, signal),
    adviceSection(table, signal),
  ];
  main.replaceChildren(
    h("h1", null, table.table),
    h("p", { class: "under" },
      `Version ${count(table.version)}, written `, h("time", { title: `${time(table.time)} UTC` }, ago(table.time)),
      table.partition_by.length ? [", partitioned by ", h("span", { class: "mono" }, table.partition_by.join(", "))] : ", not partitioned"),
    facts(table),
    h("nav", { "aria-label": "Sections of the table" }, h("ul", { class: "inside" }, sections.map((each) => h("li", null,
      h("button", { class: "plain", onclick: () => jump(each) }, each.querySelector("h2").textContent))))),
    ...sections,
  );
}

/** Move to a section, and the keyboard with it. The address stays the view's. */
function jump(place) {
  const heading = place.querySelector("h2");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  place.scrollIntoView({ block: "start" });
}

function facts(table) {
  const { old } = table;
  const all = [
    ["Rows", count(table.rows)],
    ["Size", size(table.bytes)],
    ["Files", count(table.files), table.files ? `${size(table.bytes / table.files)} each` : ""],
    ["Partitions", count(table.partitions), table.partitions ? `${size(table.bytes / table.partitions)} each` : ""],
    ["Old versions", count(old.count), old.count ? `hold ${old.is_exact ? "" : "at least "}${size(old.bytes)}` : ""],
  ];
  return h("dl", { class: "facts" }, all.map(([name, value, note]) =>
    h("div", null, h("dt", null, name), h("dd", null, value), note ? h("small", null, note) : null)));
}

function needsSection(table, signal) {
  const place = h("div");
  const look = (anyway) => load(place, ask("needs", { table: table.table, anyway }, signal), (answer) => {
    const rows = answer.rows.length
      ? h("ul", { class: "needs" }, answer.rows.map((need) => h("li", null,
          h("b", null, need.need), h("span", null, need.detail), h("code", null, need.statement))))
      : answer.looked ? h("p", { class: "well" }, "Nothing needs attention.") : null;
    const rest = answer.looked ? null : h("p", { class: "well" },
      `Whether files are small or misplaced is in the lists of ${quantity(answer.files, "file")}, which takes some 20 seconds for a million. `,
      h("button", { onclick: () => look(1) }, "Look"));
    return [rows, rest];
  }, "Looking …");
  look(null);
  return section("needs", "Needs attention", place);
}

function definitionSection(table) {
  const partition = new Map(table.partition_by.map((name, number) => [name.toLowerCase(), number + 1]));
  const columns = [
    { head: "Column", class: "mono", value: (c) => c.name },
    { head: "Type", class: "mono", value: (c) => c.type + (c.nullable ? "" : " not null") },
    { head: "Partition", class: "number", value: (c) => partition.get(c.name.toLowerCase()) ?? "" },
    { head: "Comment", class: "whole", value: (c) => c.comment ?? "" },
  ];
  return section("definition", "Definition",
    h("dl", { class: "list" }, table.facts.filter(([name]) => !SHOWN.has(name)).flatMap(([name, text]) => [h("dt", null, name), h("dd", null, text)])),
    h("div", { class: "wide" }, grid("Columns", columns, table.columns)));
}

