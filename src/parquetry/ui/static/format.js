// Numbers, sizes and times as the command line writes them.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const COUNT = new Intl.NumberFormat("en-US");

/** A number with separators, or a question mark if it is not known. */
export const count = (number) => (number === null || number === undefined ? "?" : COUNT.format(number));

/** A number with its noun. */
export const quantity = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Bytes with a decimal unit, to three digits. */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "?";
  let value = bytes;
  for (const unit of UNITS) {
    const text = value < 99.95 && unit !== "B" ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0);
    if (Number(text) < 1000 || unit === "EB") return `${text} ${unit}`;
    value /= 1000;
  }
  return "";
}

/** A large number in short, such as 1.2 M. */
export function short(number) {
  if (number === null || number === undefined) return "?";
  if (number < 10_000) return count(Math.round(number));
  let value = number / 1000;
  for (const unit of ["k", "M", "G", "T", "P"]) {
    const text = value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0);
    if (Number(text) < 1000 || unit === "P") return `${text} ${unit}`;
    value /= 1000;
  }
  return "";
}

/** A time in UTC, to the minute. */
export const time = (milliseconds) =>
  milliseconds === null || milliseconds === undefined ? "?" : new Date(milliseconds).toISOString().slice(0, 16).replace("T", " ");

/** How long ago something was, in one unit. */
export function ago(milliseconds, now = Date.now()) {
  if (milliseconds === null || milliseconds === undefined) return "?";
  return span(Math.max(0, now - milliseconds)) + " ago";
}

/** A length of time, in one unit. */
export function span(milliseconds) {
  const steps = [["s", 60], ["min", 60], ["h", 24], ["d", 365], ["y", Infinity]];
  let value = milliseconds / 1000;
  for (const [unit, next] of steps) {
    if (Math.round(value) < next) return `${Math.round(value)} ${unit}`;
    value /= next;
  }
  return "";
}
