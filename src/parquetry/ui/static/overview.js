// All tables, and what needs attention.

import { ask } from "./api.js";
import { grid, h, section } from "./dom.js";
import { ago, count, quantity, size, time } from "./format.js";

export const tableLink = (name) => `#/t/${encodeURIComponent(name)}`;

export async function overview(main, signal) {
  document.title = "Parquetry";
  const warehouse = await ask("warehouse", {}, signal);
  const search = h("input", { type: "search", class: "search", placeholder: "Find a table  ( / )", "aria-label": "Find a table" });
  const attention = h("div", null, h("p", { class: "well" }, "Looking at the tables …"));
  const place = h("div");
  const tables = warehouse.databases.reduce((sum, each) => sum + each.tables, 0);
  const listed = section("tables", "Tables", place);
  listed.querySelector(".head").append(search);
  main.replaceChildren(
    h("h1", null, "Warehouse"),
    h("p", { class: "under" }, `${quantity(tables, "table")} in ${quantity(warehouse.databases.length, "database")}`),
    section("attention", "Needs attention", attention),
    listed,
  );
  let looking = null;
  const list = async () => {
    looking?.abort();
    looking = new AbortController();
    signal.addEventListener("abort", () => looking.abort());
    await listTables(place, attention, search.value, looking.signal);
  };
  let waiting = null;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => list().catch(() => {}), 200);
  });
  await list();
}

async function listTables(place, attention, like, signal) {
  const cells = new Map();
  const columns = [
    { head: "Table", value: (t) => h("a", { href: tableLink(t.table) }, t.table.slice(t.table.indexOf(".") + 1)) },
    { head: "Rows", class: "number", value: (t) => count(t.rows) },
    { head: "Size", class: "number", value: (t) => size(t.bytes) },
    { head: "Partitions", class: "number", value: (t) => count(t.partitions) },
    { head: "Files", class: "number", value: (t) => count(t.files) },
    { head: "Mean file", class: "number", value: (t) => (t.files ? size(t.bytes / t.files) : "") },
    { head: "Written", class: "short", value: (t) => h("time", { title: `${time(t.time)} UTC, version ${t.version}, ${t.operation}` }, ago(t.time)) },
    { head: "Partitioned by", value: (t) => t.partition_by.join(", ") },
    { head: "Needs", class: "short whole", value: (t) => {
      const cell = h("span", { class: "quiet" }, "…");
      cells.set(t.table, cell);
      return cell;
    } },
  ];
  const needs = [];
  let after = null;
  let table = null;
  const found = [];
  const more = h("p", { class: "more" });
  const page = async () => {
    const answer = await ask("tables", { like: like || null, after }, signal);
    found.push(...answer.rows);
    if (table) table.addRows(answer.rows);
    else {
      table = grid("Tables", columns, answer.rows, { groups: (t) => t.database });
      place.replaceChildren(h("div", { class: "wide" }, table), more);
      if (!answer.rows.length) place.replaceChildren(h("p", { class: "well" }, like ? "No table has this in its name." : "The warehouse has no tables."));
    }
    after = answer.next;
    more.replaceChildren(...(after ? [h("button", { onclick: () => page().then(() => look(answer.rows)) }, "More tables")] : []));
    return answer.rows;
  };
  const look = async (rows) => {
    for (const [number, row] of rows.entries()) {
      let answer;
      try {
        answer = await ask("needs", { table: row.table }, signal);
      } catch (error) {
        if (error.name === "AbortError") return;
        answer = { rows: [{ need: "unreadable", detail: error.message, bytes: 0, statement: "" }], looked: true };
      }
      const cell = cells.get(row.table);
      cell.className = answer.rows.length ? "need" : "quiet";
      cell.textContent = answer.rows.map((need) => need.need).join(", ") || (answer.looked ? "nothing" : "not looked at");
      needs.push(...answer.rows.map((need) => ({ table: row.table, ...need })));
      drawNeeds(attention, needs, number + 1 < rows.length ? `Looking at the tables: ${number + 1} of ${rows.length} …` : "");
    }
    if (!rows.length) drawNeeds(attention, needs, "");
  };
  look(await page()).catch(() => {});
}

function drawNeeds(place, needs, rest) {
  const sorted = [...needs].sort((a, b) => b.bytes - a.bytes);
  const list = sorted.length
    ? h("ul", { class: "needs" }, sorted.map((need) => h("li", { class: "of" },
        h("a", { href: tableLink(need.table) }, need.table), h("b", null, need.need), h("span", null, need.detail), h("code", null, need.statement))))
    : h("p", { class: "well" }, rest || "Nothing needs attention.");
  place.replaceChildren(list, ...(rest && sorted.length ? [h("p", { class: "quiet" }, rest)] : []));
}
