// A condition, planned while it is typed: the ranges of keys with the keys examined, and the funnel.

import { ask } from "./api.js";
import { h, problem, say, section } from "./dom.js";
import { count } from "./format.js";

const PAUSE = 250; // milliseconds without a key before a plan is asked for

export function filterSection(table, given, signal) {
  const field = h("input", {
    type: "text", class: "mono", id: "where", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    placeholder: example(table), "aria-describedby": "where-help", value: given.get("where") ?? "",
  });
  const result = h("div", { "aria-live": "off" });
  let running = false;
  let asked = null;

  const plan = async () => {
    if (running) return; // the answer that is on its way asks for the newest text when it is here
    running = true;
    while (asked !== field.value && !signal.aborted) {
      asked = field.value;
      const text = asked;
      result.classList.add("pending");
      try {
        const answer = await ask("plan", { table: table.table, where: text.trim() ? text : null }, signal);
        field.removeAttribute("aria-invalid");
        result.replaceChildren(draw(answer));
        say(text.trim() ? answer.text.split("\n")[0] : "");
      } catch (error) {
        if (error.name === "AbortError") break;
        field.setAttribute("aria-invalid", "true");
        result.replaceChildren(problem(error, text));
      }
      result.classList.remove("pending");
      const address = `#/t/${encodeURIComponent(table.table)}${text.trim() ? `?where=${encodeURIComponent(text)}` : ""}`;
      if (!signal.aborted) history.replaceState(null, "", address);
    }
    running = false;
  };
  let waiting = null;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(plan, PAUSE);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      clearTimeout(waiting);
      plan();
    }
  });
  plan();
  return section("filter", "Plan a condition",
    h("label", { for: "where", class: "visually-hidden" }, "Condition"), field,
    h("p", { id: "where-help", class: "quiet" }, "As in WHERE. It is planned as you type, by statistics alone: no file is opened."),
    result);
}

function example(table) {
  const type = new Map(table.columns.map((column) => [column.name, column.type]));
  const value = { date: "'2026-01-01'", string: "'a'", timestamp: "'2026-01-01 00:00:00'" };
  const parts = table.partition_by.slice(0, 1).map((name) => `${name} = ${value[type.get(name)] ?? 1}`);
  const number = table.columns.find((c) => /^(int|bigint|double|decimal)/.test(c.type) && !table.partition_by.includes(c.name));
  if (number) parts.push(`${number.name} > 5`);
  return parts.join(" AND ");
}

function draw(answer) {
  const funnel = h("div");
  funnel.innerHTML = answer.html; // drawn by the server, each text escaped
  return h("div", { class: "plan" }, answer.keys ? keys(answer.keys) : h("div", null, h("h3", null, "Key ranges"), h("p", { class: "quiet" }, "The table has no partition columns.")),
    h("div", null, h("h3", null, "What is read"), funnel));
}

function keys({ ranges, more, outcome, all }) {
  return h("div", null,
    h("h3", null, "Key ranges"),
    h("pre", { class: "ranges", tabindex: "0", "aria-label": "Ranges of keys that are read" }, ranges.join("\n") + (more ? `\n… and ${count(more)} more` : "")),
    h("p", { class: "outcome" }, outcome || `all ${count(all)} partitions`));
}
