// The page: which view the address asks for, and the keyboard.

import { ask, keepToken, TokenNeeded } from "./api.js";
import { h, problem } from "./dom.js";
import { overview } from "./overview.js";
import { queriesPage, reportsPage } from "./records.js";
import { tablePage } from "./table.js";

const main = document.getElementById("main");
let leave = null;

/** The parts of an address such as #/t/db.t?where=… */
export function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...rest] = path.split("/");
  return { page: page || "tables", name: decodeURIComponent(rest.join("/")), given: new URLSearchParams(query ?? "") };
}

async function show() {
  const { page, name, given } = route();
  leave?.abort();
  leave = new AbortController();
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.dataset.page === page || (page === "t" && link.dataset.page === "tables")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    if (page === "t") await tablePage(main, name, given, leave.signal);
    else if (page === "queries") await queriesPage(main, leave.signal);
    else if (page === "reports") await reportsPage(main, name, leave.signal);
    else await overview(main, leave.signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error instanceof TokenNeeded) askForToken(error);
    else main.replaceChildren(problem(error));
  }
}

function askForToken(error) {
  const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const form = h("form", { class: "search" }, h("h1", null, "Token"), h("p", { class: "under" }, error.message),
    h("label", { for: "token" }, "Token of this server"), field, h("p", null, h("button", null, "Open")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keepToken(field.value);
    start();
  });
  main.replaceChildren(form);
  field.focus();
}

async function start() {
  try {
    const warehouse = await ask("warehouse");
    const where = document.getElementById("warehouse");
    where.textContent = warehouse.location;
    where.title = `${warehouse.location} · Parquetry ${warehouse.version}`;
    await show();
  } catch (error) {
    if (error instanceof TokenNeeded) askForToken(error);
    else main.replaceChildren(problem(error));
  }
}

let shown = location.hash.split("?")[0];
addEventListener("hashchange", () => {
  const page = location.hash.split("?")[0];
  if (!page.startsWith("#/") && page !== "") return; // a place within the view
  if (page !== shown) {
    shown = page;
    show().then(() => { main.focus({ preventScroll: true }); scrollTo(0, 0); });
  }
});
addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "range";
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const field = main.querySelector("input[type=text], input[type=search]");
    if (field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  }
});
start();
