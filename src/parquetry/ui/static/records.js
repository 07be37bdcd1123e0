// Recorded queries, advice, and saved reports.

import { ask } from "./api.js";
import { grid, h, load, section } from "./dom.js";
import { count, size, time } from "./format.js";

const part = (read, text) => (read ? `${text(read.read)} of ${text(read.of)}` : "");

function queryGrid(rows, of) {
  const reads = rows.flatMap((query) => query.reads.filter((read) => !of || read.table === of).map((read) => ({ query, read })));
  const columns = [
    { head: "When (UTC)", class: "short", value: ({ query }) => (query.time ? time(query.time) : query.door) },
    ...(of ? [] : [{ head: "Table", value: ({ read }) => h("a", { href: `#/t/${encodeURIComponent(read.table)}` }, read.table) }]),
    { head: "Condition", class: "mono", value: ({ read }) => read.conditions.map((each) => each.text).join(" AND ") },
    { head: "Joined by", class: "mono", value: ({ read }) => read.joins.map((join) => join.column).join(", ") },
    { head: "Files", class: "number", value: ({ read }) => part(read.files, count) },
    { head: "Bytes", class: "number", value: ({ read }) => part(read.bytes, size) },
    { head: "Rows", class: "number", value: ({ read }) => (read.rows === null ? "" : count(read.rows)) },
    { head: "Seconds", class: "number", value: ({ query }) => (query.seconds === null ? "" : query.seconds.toFixed(2)) },
    { head: "Not more, because", class: "whole", value: ({ read }) => read.not_more.join("; ") },
  ];
  return h("div", { class: "wide" }, grid("Recorded queries", columns, reads));
}

const drawQueries = (of) => (answer) => [
  ...answer.promises.map((text) => h("p", { class: "well" }, text)),
  answer.kept && answer.rows.length ? queryGrid(answer.rows, of) : h("p", { class: "well" }, answer.kept ? "No query has been recorded yet." : answer.message),
];

export function queriesSection(table, signal) {
  const place = h("div");
  load(place, ask("queries", { table: table.table }, signal), drawQueries(table.table));
  return section("queries", "Queries", place);
}

export function adviceSection(table, signal) {
  const place = h("div");
  const look = (now) => load(place, ask("advice", { table: table.table, now }, signal), (answer) => {
    if (!answer.kept) return h("p", { class: "well" }, answer.message);
    if (!answer.made) return h("p", { class: "well" }, "The adviser reads a sample of the rows. ", h("button", { onclick: () => look(1) }, "Advise"));
    return h("div", { class: "wide" }, grid("Layouts", ADVICE, answer.rows));
  }, now ? "Reading a sample of the rows …" : "…");
  look(null);
  return section("advice", "Advice", place);
}

const bytes = (number) => (number === null ? "" : size(number));
const ADVICE = [
  { head: "Layout", value: (a) => a.layout },
  { head: "Verdict", class: "short", value: (a) => (a.verdict === "advised" ? h("b", null, a.verdict) : a.verdict) },
  { head: "A query reads", class: "number", value: (a) => bytes(a.bytes_now) },
  { head: "It would read", class: "number", value: (a) => bytes(a.bytes) },
  { head: "±", class: "number", value: (a) => bytes(a.spread) },
  { head: "To rewrite", class: "number", value: (a) => bytes(a.rewrite_bytes) },
  { head: "Pays after", class: "number", value: (a) => (a.pays_after === null ? "" : `${count(a.pays_after)} queries`) },
  { head: "To know", value: (a) => a.detail },
  { head: "To type", class: "mono whole", value: (a) => a.statement },
];

export async function queriesPage(main, signal) {
  document.title = "Queries · Parquetry";
  const place = h("div");
  main.replaceChildren(h("h1", null, "Queries"), h("p", { class: "under" }, "What the last queries read, of how much."), place);
  await load(place, ask("queries", {}, signal), drawQueries(null));
}

export async function reportsPage(main, name, signal) {
  document.title = "Reports · Parquetry";
  const answer = await ask("reports", {}, signal);
  const drawn = h("div", { class: "drawn" });
  const columns = [
    { head: "Report", class: "mono", value: (r) => h("a", { href: `#/reports/${encodeURIComponent(r.name)}`, "aria-current": r.name === name ? "true" : null }, r.name) },
    { head: "Saved (UTC)", class: "short", value: (r) => time(r.time) },
    { head: "Size", class: "number", value: (r) => size(r.bytes) },
  ];
  const list = answer.rows.length
    ? h("div", { class: "wide" }, grid("Saved reports", columns, answer.rows))
    : h("p", { class: "well" }, answer.folder === null
      ? "Start with --reports FOLDER to look at saved reports. In a session: json.dump(parquetry.report(df).to_dict(), open('reports/q1.json', 'w'))"
      : `The folder ${answer.folder} has no reports (*.json).`);
  main.replaceChildren(h("h1", null, name || "Reports"),
    h("p", { class: "under" }, "What a query read and left out, and which table gave values to which."), drawn, list);
  if (!name) return;
  await load(drawn, ask("report", { name }, signal), (report) => {
    const place = h("div");
    place.innerHTML = report.html; // drawn by the server, each text escaped
    return place;
  });
}
