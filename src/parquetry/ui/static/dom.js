// Elements made of texts and attributes. No text is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of HTML. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An element of SVG. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Say something to readers of the screen. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** A list of things as a table. Each column has a head, a function of the thing, and classes of its cells.
 *  The first column names the row. Roles are given, since a narrow screen shows cells below each other. */
export function grid(label, columns, things, { groups = null } = {}) {
  const body = h("tbody", { role: "rowgroup" });
  const table = h(
    "table",
    { class: "grid", role: "table", "aria-label": label },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
      columns.map(({ head, class: kind }) => h("th", { scope: "col", role: "columnheader", class: kind }, head)))),
    body,
  );
  let group = null;
  table.addRows = (more) => {
    for (const thing of more) {
      if (groups && groups(thing) !== group) {
        group = groups(thing);
        body.append(h("tr", { class: "group", role: "row" },
          h("th", { scope: "rowgroup", role: "rowheader", colspan: columns.length }, group)));
      }
      body.append(h("tr", { role: "row" }, columns.map(({ head, value, class: kind }, number) => {
        const content = value(thing);
        return number === 0
          ? h("th", { scope: "row", role: "rowheader", class: kind, "data-label": head }, content)
          : h("td", { role: "cell", class: kind, "data-label": head }, content);
      })));
    }
  };
  table.addRows(things);
  return table;
}

/** A section with a heading, which fills itself. */
export function section(id, title, ...children) {
  const heading = `${id}-heading`;
  return h("section", { id, "aria-labelledby": heading }, h("div", { class: "head" }, h("h2", { id: heading }, title)), ...children);
}

/** What went wrong, with a mark below the place in the text where there is one. */
export function problem(error, text = null) {
  const marked = text !== null && Number.isInteger(error.position);
  return h("div", { class: "error", role: "alert" }, error.message,
    marked ? h("pre", { "aria-hidden": "true" }, `${text}\n${" ".repeat(error.position)}^`) : null);
}

/** Put what a promise brings where a text waits for it. */
export async function load(place, promise, draw, waiting = "…") {
  place.replaceChildren(h("p", { class: "quiet" }, waiting));
  try {
    place.replaceChildren(...[draw(await promise)].flat().filter(Boolean));
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(problem(error));
  }
}
