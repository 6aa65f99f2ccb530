// What views are made of. Everything that comes from the API is a text node: htm and preact make no markup of text.

import { h, Component } from "./vendor/preact.module.js";
import htm from "./vendor/htm.module.js";

export const html = htm.bind(h);

/** Text for people of anything the API may hold. */
export const text = (value) =>
  value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

const TONES = {
  Bound: "good", Scheduled: "good", Unchanged: "good", Ready: "good", Provision: "good", Picked: "good",
  Partial: "warn", Pending: "warn", Releasing: "warn", Released: "warn", Cordoned: "warn",
  Unschedulable: "bad", Invalid: "bad", "Not ready": "bad",
};

/** A state: a colour and always the word. */
export const State = ({ of }) => html`<span class=${`state ${TONES[of] ?? "calm"}`}>${text(of) || "unknown"}</span>`;

/** What went wrong, kept on screen beside what was read before. */
export const Problem = ({ of }) => of && html`<p class="problem" role="alert">${text(of.message)}</p>`;

/** A number of something used, as a bar with its numbers. */
export const Bar = ({ value, most, label }) => {
  const part = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
  return html`<span class="bar" title=${label}><span class="fill" style=${{ width: `${part * 100}%` }}></span><span class="label">${label}</span></span>`;
};

/** The same in the terminal. */
export class Kubectl extends Component {
  render({ command }, { done }) {
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(command);
        this.setState({ done: "copied" });
      } catch {
        this.setState({ done: "select and copy" });
      }
      setTimeout(() => this.setState({ done: "" }), 1500);
    };
    return html`<div class="kubectl"><code>${command}</code><button onClick=${copy}>${done || "copy as kubectl"}</button></div>`;
  }
}

const HEIGHT = 37;

/**
 * A table of which only the rows on screen are in the document. Columns: {title, cell(row), wide}.
 */
export class Table extends Component {
  constructor() {
    super();
    this.state = { top: 0, seen: 800 };
    this.box = null;
    this.measure = () => this.box && this.setState({ top: this.box.scrollTop, seen: this.box.clientHeight });
  }
  componentDidMount() {
    addEventListener("resize", this.measure);
    this.measure();
  }
  componentWillUnmount() {
    removeEventListener("resize", this.measure);
  }
  render({ columns, rows, label, id, open, empty }, { top, seen }) {
    const first = Math.max(0, Math.floor(top / HEIGHT) - 8);
    const last = Math.min(rows.length, first + Math.ceil(seen / HEIGHT) + 16);
    const space = (count) => count > 0 && html`<tr aria-hidden="true" class="space"><td colspan=${columns.length} style=${{ height: `${count * HEIGHT}px` }}></td></tr>`;
    return html`<div class="table" tabindex="0" role="region" aria-label=${label} ref=${(box) => (this.box = box)} onScroll=${this.measure}>
      <table aria-rowcount=${rows.length + 1}>
        <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.narrow ? "narrow" : ""}>${column.title}</th>`)}</tr></thead>
        <tbody>
          ${space(first)}
          ${rows.slice(first, last).map((row, index) => html`<tr key=${id(row)} aria-rowindex=${first + index + 2} class=${open ? "opens" : ""} onClick=${open && (() => open(row))}>
            ${columns.map((column) => html`<td class=${column.narrow ? "narrow" : ""}>${column.cell(row)}</td>`)}
          </tr>`)}
          ${space(rows.length - last)}
        </tbody>
      </table>
      ${rows.length === 0 && html`<p class="empty">${empty}</p>`}
    </div>`;
  }
}

/** A choice of the values that there are. */
export const Choice = ({ label, value, values, set }) => html`<label>${label}
  <select value=${value} onChange=${(event) => set(event.target.value)}>
    <option value="">all</option>
    ${values.map((one) => html`<option value=${one} selected=${one === value}>${one}</option>`)}
  </select></label>`;

/** @param {Iterable<string | undefined>} values */
export const distinct = (values) => [...new Set(values)].filter(Boolean).sort();
