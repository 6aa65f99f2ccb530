// What views are made of. Everything that comes from the API is a text node: htm and preact make no markup of text.

import { h, Component } from "./vendor/preact.module.js";
import htm from "./vendor/htm.module.js";
import { text, compare, many } from "./words.js";

export const html = htm.bind(h);

/** A state: a colour and always the word. */
export const State = ({ tone, children }) => html`<span class=${`state ${tone}`}>${children}</span>`;

/** What went wrong, kept on screen beside what was read before. */
export const Problem = ({ of }) => of && html`<p class="problem" role="alert">${text(of.message)}</p>`;

/** A part of the page with a heading. */
export const Card = ({ title, note, wide, children }) => html`<section class=${`card${wide ? " wide" : ""}`}>
  ${title && html`<h2>${title}${note && html` <small>${note}</small>`}</h2>`}${children}</section>`;

/** How much of something is used, with its numbers beside the bar. */
export const Used = ({ value, most, label }) => {
  if (!(most > 0)) return html`<span class="used">${label}</span>`;
  const part = Math.max(0, Math.min(1, value / most));
  const step = part < 0.35 ? 0 : part < 0.6 ? 1 : part < 0.82 ? 2 : 3;
  return html`<span class="used"><span class="track"><span class=${`heat${step}`} style=${{ width: `${part * 100}%` }}></span></span> ${label}</span>`;
};

/** A button that copies text, and says whether it did. */
export class Copy extends Component {
  render({ value, label = "copy" }, { done }) {
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(value);
        this.setState({ done: "copied" });
      } catch {
        this.setState({ done: "select and copy" });
      }
      setTimeout(() => this.setState({ done: "" }), 1500);
    };
    return html`<button class="small" onClick=${copy}>${done || label}</button>`;
  }
}

/** The same in the terminal. */
export const Command = ({ of }) => html`<div class="command"><code>${of}</code><${Copy} value=${of} /></div>`;

/** Parts of a whole, as one bar of links: {count, tone, label, href}. */
export const Stack = ({ parts }) => {
  const all = parts.reduce((sum, part) => sum + part.count, 0) || 1;
  return html`<span class="stack">${parts.filter((part) => part.count > 0).map((part) =>
    html`<a class=${part.tone} href=${part.href} style=${{ flexGrow: part.count / all }} aria-label=${`${part.count} ${part.label}`}>${part.count}</a>`)}</span>`;
};

/** So many choices are buttons; more are a list, as all are on a narrow screen. */
const FEW = 7;
const NARROW = 700;

/** Choices with counts: a click filters, another one takes the filter back. */
export const Facet = ({ label, value, counts, set, word = text }) => {
  const entries = [...counts];
  if (entries.length < 2 && !value) return null;
  if (entries.length > FEW || innerWidth < NARROW) {
    return html`<label class="facet">${label} <select value=${value ?? ""} onChange=${(event) => set(event.target.value)}>
      <option value="">all</option>
      ${entries.sort((a, b) => compare(a[0], b[0])).map(([one, count]) => html`<option value=${one} selected=${one === value}>${word(one)} (${count})</option>`)}
    </select></label>`;
  }
  return html`<div class="facet" role="group" aria-label=${label}>${label}
    ${entries.map(([one, count]) => html`<button aria-pressed=${one === value ? "true" : "false"} onClick=${() => set(one === value ? "" : one)}>${word(one)} <b>${count}</b></button>`)}</div>`;
};

/** How often each value is there. */
export const tally = (items, of) => {
  const found = new Map();
  for (const item of items) {
    const value = of(item);
    if (value) found.set(value, (found.get(value) ?? 0) + 1);
  }
  return found;
};

export const Search = ({ value, set, label = "Filter" }) => html`<label class="search">${label}
  <input type="search" value=${value ?? ""} placeholder="names, labels, reasons" onInput=${(event) => set(event.target.value)} /></label>`;

export const Count = ({ shown, all, what, whole }) =>
  html`<span class="count" role="status">${shown === all ? all.toLocaleString("en") : `${shown.toLocaleString("en")} of ${all.toLocaleString("en")}`} ${what}${whole ? "" : " …"}</span>`;

const HEIGHT = 28;
/** A row on a narrow screen: a line, and two for the reason. */
const TALL = 76;

/** Keys that go to the table on screen. */
let current = null;
export const tableKey = (key) => current?.key(key);

/**
 * A table of which only the rows on screen are in the document. Columns: {title, cell(row), sort(row), wide}. On a narrow screen a
 * row is what `brief(row)` gives.
 */
export class Table extends Component {
  constructor() {
    super();
    this.state = { top: 0, seen: 900, at: -1, by: null, down: false, narrow: innerWidth < NARROW };
    this.box = null;
    this.measure = () => this.box && this.setState({ top: this.box.scrollTop, seen: Math.max(this.box.clientHeight, innerHeight), narrow: innerWidth < NARROW });
  }
  componentDidMount() {
    this.watcher = new ResizeObserver(this.measure);
    this.watcher.observe(this.box);
    this.watcher.observe(document.documentElement);
    current = this;
  }
  componentWillUnmount() {
    this.watcher.disconnect();
    if (current === this) current = null;
  }
  sorted() {
    const { rows, columns } = this.props;
    const column = columns.find((one) => one.title === this.state.by);
    if (!column) return rows;
    if (this.was?.rows === rows && this.was.by === this.state.by && this.was.down === this.state.down) return this.was.sorted;
    const sign = this.state.down ? -1 : 1;
    const sorted = [...rows].sort((a, b) => sign * compare(column.sort(a), column.sort(b)));
    this.was = { rows, by: this.state.by, down: this.state.down, sorted };
    return sorted;
  }
  key(key) {
    const rows = this.sorted();
    const { at, narrow } = this.state;
    if (key === "Enter") {
      const href = at >= 0 && rows[at] && this.props.href?.(rows[at]);
      if (href) location.hash = href;
      return;
    }
    const next = Math.max(0, Math.min(rows.length - 1, at + (key === "j" ? 1 : -1)));
    const height = narrow ? TALL : HEIGHT;
    if (this.box) {
      const top = next * height;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      if (top + 3 * height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + 3 * height - this.box.clientHeight;
    }
    this.setState({ at: next });
  }
  open(event, row) {
    const href = this.props.href?.(row);
    // A link in the row, a selection and a click that asks for a new tab are the browser's.
    if (!href || event.target.closest("a, button") || event.ctrlKey || event.metaKey || event.shiftKey || String(getSelection())) return;
    location.hash = href;
  }
  render({ columns, label, id, href, empty, brief, tall }, { top, seen, at, by, down, narrow }) {
    const rows = this.sorted();
    const shows = narrow && brief ? [{ title: label, cell: brief }] : columns;
    const height = narrow && brief ? TALL : HEIGHT;
    const first = Math.max(0, Math.floor(top / height) - 8);
    const last = Math.min(rows.length, first + Math.ceil(seen / height) + 16);
    const space = (count) => count > 0 && html`<tr aria-hidden="true" class="space"><td colspan=${shows.length} style=${{ height: `${count * height}px` }}></td></tr>`;
    const head = (column) => {
      if (!column.sort) return html`<th scope="col">${column.title}</th>`;
      const sort = by === column.title ? (down ? "descending" : "ascending") : "none";
      const turn = () => this.setState({ by: column.title, down: by === column.title && !down });
      return html`<th scope="col" aria-sort=${sort}><button class="sort" onClick=${turn}>${column.title}${sort === "none" ? "" : down ? " ↓" : " ↑"}</button></th>`;
    };
    return html`<div class=${`table${tall ? " tall" : ""}`} tabindex="0" role="region" aria-label=${label} ref=${(box) => (this.box = box)} onScroll=${this.measure}>
      <table aria-rowcount=${rows.length + 1} class=${narrow && brief ? "briefs" : ""}>
        <thead><tr>${shows.map(head)}</tr></thead>
        <tbody>
          ${space(first)}
          ${rows.slice(first, last).map((row, index) => html`<tr key=${id(row)} aria-rowindex=${first + index + 2} class=${`${href ? "opens" : ""}${first + index === at ? " at" : ""}`} onClick=${(event) => this.open(event, row)}>
            ${shows.map((column) => html`<td class=${column.wide ? "fill" : ""}>${column.cell(row)}</td>`)}
          </tr>`)}
          ${space(rows.length - last)}
        </tbody>
      </table>
      ${rows.length === 0 && html`<p class="empty">${empty}</p>`}
    </div>`;
  }
}

/** The colour of a tone, as the style sheet has it for this scheme. */
const colour = (style, tone) => style.getPropertyValue(`--${tone}`).trim() || "gray";
const dark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Many cells on one canvas: `cells` are {tone, name}; a click opens `href(cell)`, and the cell under the pointer is told by
 * `point(cell)`. What it shows is said in `label`, for those who do not see it.
 */
export class Cells extends Component {
  constructor() {
    super();
    this.draw = () => this.paint();
  }
  componentDidMount() {
    this.watcher = new ResizeObserver(this.draw);
    this.watcher.observe(this.canvas.parentNode);
    dark.addEventListener("change", this.draw);
  }
  componentDidUpdate() {
    this.paint();
  }
  componentWillUnmount() {
    this.watcher.disconnect();
    dark.removeEventListener("change", this.draw);
  }
  paint() {
    const { cells, size } = this.props;
    const canvas = this.canvas;
    const width = Math.floor(canvas?.parentNode?.clientWidth ?? 0);
    if (!width) return;
    this.columns = Math.max(1, Math.floor(width / size));
    const height = Math.ceil(cells.length / this.columns) * size;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    context.scale(ratio, ratio);
    const gap = size > 5 ? 1 : 0.5;
    const tones = new Map();
    cells.forEach((cell, index) => {
      if (!tones.has(cell.tone)) tones.set(cell.tone, []);
      tones.get(cell.tone).push(index);
    });
    for (const [tone, indices] of tones) {
      context.fillStyle = colour(style, tone);
      for (const index of indices) {
        context.fillRect((index % this.columns) * size, Math.floor(index / this.columns) * size, size - gap, size - gap);
      }
    }
  }
  at(event) {
    const { size, cells } = this.props;
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / size);
    if (column >= this.columns) return undefined;
    return cells[Math.floor((event.clientY - box.top) / size) * this.columns + column];
  }
  render({ label, href, point }) {
    const open = (event) => {
      const cell = this.at(event);
      if (!cell || !href) return;
      if (event.ctrlKey || event.metaKey) open_tab(href(cell));
      else location.hash = href(cell);
    };
    return html`<div class="cells"><canvas role="img" aria-label=${label} ref=${(canvas) => (this.canvas = canvas)} class=${href ? "opens" : ""}
      onClick=${open} onMouseMove=${point && ((event) => point(this.at(event)))} onMouseLeave=${point && (() => point(undefined))}></canvas></div>`;
  }
}

const open_tab = (hash) => window.open(location.pathname + hash, "_blank", "noopener");

/** The meaning of tones: [tone, words]. */
export const Legend = ({ of }) => html`<p class="legend">${of.map(([tone, words]) => html`<span><i class=${`swatch ${tone}`}></i>${words}</span>`)}</p>`;

/** The first of a list, and how many more there are. */
export const Few = ({ of, most, each, what = "more" }) => html`${of.slice(0, most).map(each)}${of.length > most && html`<span class="more"> and ${many(of.length - most, what, what)}</span>`}`;
