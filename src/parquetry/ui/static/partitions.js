// The partitions of a table: a strip in the order of keys, lanes of colours, and a list in pages.

import { ask } from "./api.js";
import { grid, h, load, problem, s, section } from "./dom.js";
import { ago, count, quantity, short, size, span } from "./format.js";

const LANE = 17;
const GAP = 4;
const STRIP = 54;
const LABEL = 74;
const RANGE = 128;
const SHADES = 6;

export function partitionsSection(table, signal) {
  const map = h("div");
  const list = h("div");
  const lister = partitionList(table, list, signal);
  const room = innerWidth < 640 ? 120 : 480; // columns that are still seen one by one
  const cells = table.partitions <= room ? room : Math.min(room, Math.max(60, Math.floor((Math.min(innerWidth, 1340) - LABEL - RANGE) / 3)));
  load(map, ask("cells", { table: table.table, cells }, signal), (answer) => drawMap(answer, table, lister),
    `Adding up ${quantity(table.partitions, "partition")} …`);
  lister(null);
  return section("partitions", "Partitions", map, list);
}

/** Neighbouring partitions as columns: bars for their sizes, and a lane of colours for each number. */
function drawMap(data, table, lister) {
  const number = data.key.length;
  if (!number) return h("p", { class: "well" }, "The table has no partitions.");
  const now = Date.now();
  const per = (values) => values.map((value, i) => (value === null ? null : value / data.partitions[i]));
  const age = data.newest.map((value) => (value === null ? null : Math.max(0, now - value)));
  const each = data.partitions.some((count) => count > 1) ? " / partition" : "";
  const lanes = [
    { name: "Rows", values: per(data.rows), text: short },
    { name: "Files", values: per(data.files), text: (value) => short(Math.round(value * 10) / 10) },
    { name: "Mean file", values: data.bytes.map((bytes, i) => (data.files[i] ? bytes / data.files[i] : null)), text: size },
    { name: "Age", values: age, text: span, newestDark: true },
  ];
  const narrow = innerWidth < 640;
  const [label, range] = narrow ? [62, 0] : [LABEL, RANGE];
  const width = narrow ? 340 : 1240;
  const across = (width - label - range) / number;
  const height = STRIP + lanes.length * (LANE + GAP) + 4;
  const most = Math.max(...data.bytes, 1);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe(data, lanes, table) });
  const x = (i) => label + i * across;
  const wide = Math.max(across - (across > 3 ? 0.6 : 0), 0.4);
  svg.append(s("text", { x: 0, y: STRIP - 6 }, "Size"));
  if (!narrow) svg.append(s("text", { x: width - range + 8, y: 12 }, `up to ${size(most)}`));
  svg.append(s("line", { class: "baseline", x1: label, x2: width - range, y1: STRIP, y2: STRIP }));
  for (let i = 0; i < number; i++) {
    const tall = data.bytes[i] ? Math.max(1, Math.sqrt(data.bytes[i] / most) * (STRIP - 4)) : 0;
    svg.append(s("rect", { class: "bar", x: x(i).toFixed(2), y: (STRIP - tall).toFixed(2), width: wide.toFixed(2), height: tall.toFixed(2) }));
  }
  lanes.forEach((lane, row) => {
    const y = STRIP + GAP + row * (LANE + GAP);
    const shade = shades(lane.values, lane.newestDark);
    svg.append(s("text", { x: 0, y: y + LANE - 4 }, lane.name));
    lane.values.forEach((value, i) => svg.append(
      s("rect", { class: `h${shade(value)}`, x: x(i).toFixed(2), y, width: wide.toFixed(2), height: LANE })));
    const known = lane.values.filter((value) => value !== null);
    if (!narrow && known.length) {
      const [low, high] = [Math.min(...known), Math.max(...known)].map(lane.text);
      svg.append(s("text", { x: width - range + 8, y: y + LANE - 4 }, low === high ? low : `${low} – ${high}`));
    }
  });
  const chosen = s("rect", { class: "chosen", y: 0, height: height - 2, width: Math.max(wide, 2) });
  svg.append(chosen);
  const detail = h("div", { class: "cell", "aria-hidden": "true" });
  const slider = h("input", { type: "range", min: 0, max: number - 1, value: 0, "aria-label": "Cell of the map: neighbouring partitions" });
  const choose = (i) => {
    slider.value = i;
    slider.setAttribute("aria-valuetext", words(data, i, now));
    chosen.setAttribute("x", x(i).toFixed(2));
    detail.replaceChildren(h("span", { class: "mono" }, names(data, i)), ...numbers(data, i, now).map((text) => h("span", { class: "quiet" }, text)),
      h("button", { class: "plain", tabindex: "-1", onclick: () => lister(data.key[i]) }, "List from here"));
  };
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    return Math.min(number - 1, Math.max(0, Math.floor((place - label) / across)));
  };
  svg.addEventListener("pointermove", (event) => choose(at(event)));
  svg.addEventListener("click", (event) => { choose(at(event)); lister(data.key[at(event)]); });
  slider.addEventListener("input", () => choose(Number(slider.value)));
  slider.addEventListener("keydown", (event) => { if (event.key === "Enter") lister(data.key[Number(slider.value)]); });
  choose(number - 1);
  const rest = each ? ` A column is ${spread(data.partitions)} neighbouring partitions; the lanes below the bars are means of them.` : "";
  slider.style.marginLeft = `${(100 * label) / width}%`;
  slider.style.width = `${(100 * (width - label - range)) / width}%`;
  return [
    h("p", { class: "under" }, `In the order of their keys: bars are sizes (by the square root); a stronger colour is more, and for age newer.${rest}`),
    h("div", { class: "map" }, svg),
    slider,
    h("div", { class: "ends", "aria-hidden": "true" }, h("span", null, data.first[0]), h("span", null, data.last[number - 1])),
    detail,
  ];
}

/** A function from a number to its shade: by the logarithm, as sizes differ by orders of magnitude. */
function shades(values, reversed) {
  const known = values.filter((value) => value !== null).map((value) => Math.log1p(value));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return (value) => {
    if (value === null) return reversed ? 0 : "x";
    const part = high > low ? (Math.log1p(value) - low) / (high - low) : 0.5;
    return Math.min(SHADES - 1, Math.floor((reversed ? 1 - part : part) * SHADES));
  };
}

const spread = (numbers) => {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return low === high ? count(low) : `${count(low)} to ${count(high)}`;
};

const names = (data, i) => (data.partitions[i] > 1 ? `${data.first[i]}  …  ${data.last[i]}` : data.first[i]);

function numbers(data, i, now) {
  const age = data.newest[i] === null ? "written before the oldest version" : `written ${ago(data.newest[i], now)}`;
  return [
    ...(data.partitions[i] > 1 ? [quantity(data.partitions[i], "partition")] : []),
    data.rows[i] === null ? "rows unknown" : quantity(data.rows[i], "row"), quantity(data.files[i], "file"), size(data.bytes[i]), age,
  ];
}

const words = (data, i, now) => `${data.first[i]} to ${data.last[i]}: ${numbers(data, i, now).join(", ")}`;

function describe(data, lanes, table) {
  const parts = lanes.map(({ name, values, text }) => {
    const known = values.filter((value) => value !== null);
    return known.length ? `${name.toLowerCase()} from ${text(Math.min(...known))} to ${text(Math.max(...known))}` : `${name.toLowerCase()} unknown`;
  });
  return `${quantity(table.partitions, "partition")} in the order of their keys, from ${data.first[0]} to ${data.last[data.last.length - 1]}; per partition ${parts.join(", ")}. The slider below reads each cell.`;
}

/** A function that lists partitions from a key on, in pages. */
function partitionList(table, place, signal) {
  const columns = [
    ...table.partition_by.map((name, number) => ({ head: name, class: "mono", value: (p) => (p.values[number] === null ? "NULL" : String(p.values[number])) })),
    { head: "Rows", class: "number", value: (p) => count(p.rows) },
    { head: "Files", class: "number", value: (p) => count(p.files) },
    { head: "Size", class: "number", value: (p) => size(p.bytes) },
    { head: "Own location", class: "mono whole", value: (p) => p.location ?? "" },
  ];
  return async (from) => {
    try {
      const first = await ask("partitions", { table: table.table, from, limit: 20 }, signal);
      const rows = grid("Partitions", columns, first.rows);
      const more = h("p", { class: "more" });
      const offer = (next) => more.replaceChildren(...(next ? [h("button", { onclick: () => page(next) }, "More partitions")] : []),
        ...(from ? [" ", h("button", { onclick: () => place.refresh() }, "From the first")] : []));
      const page = async (after) => {
        const answer = await ask("partitions", { table: table.table, after, limit: 100 }, signal);
        rows.addRows(answer.rows);
        offer(answer.next);
      };
      offer(first.next);
      place.refresh = () => partitionList(table, place, signal)(null);
      place.replaceChildren(h("div", { class: "wide" }, rows), more);
    } catch (error) {
      if (error.name !== "AbortError") place.replaceChildren(problem(error));
    }
  };
}
