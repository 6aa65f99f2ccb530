// What a change would do to decisions: its counts, and the clusters that each would leave and get.

import { html, Few, State } from "./parts.js";
import { clusterOf } from "./store.js";
import { VERDICTS, VERDICT_WORDS, address, bare, many, text } from "./words.js";

const COUNTS = ["lost", "moved", "shrunk", "fits", "grown", "resized", "bound", "unplaced", "removed"];

const reason = (entry, name, side) => {
  const of = (entry.candidates ?? []).find((one) => one.clusterName === name);
  const list = side === "left" ? of?.appeared : of?.gone;
  const said = (list ?? []).map((one) => text(one.message)).filter(Boolean)[0];
  return said ? (side === "left" ? said : `no longer: ${said}`) : "";
};

const Clusters = ({ entry, side }) => {
  const names = (entry[side] ?? []).map((one) => (typeof one === "string" ? one : one.clusterName));
  return html`<${Few} of=${names} most=${4} each=${(name) => html`<span class=${side === "left" ? "went" : "came"}>${side === "left" ? "−" : "+"} <a href=${clusterOf(entry.dialect, name).href}>${clusterOf(entry.dialect, name).label}</a> <small>${reason(entry, name, side)}</small> </span>`} />`;
};

/** The clusters that stay with another amount. */
export const Resized = ({ of, system }) => html`<${Few} of=${of ?? []} most=${4} each=${(one) => html`<span>~ <a href=${clusterOf(system, one.clusterName).href}>${clusterOf(system, one.clusterName).label}</a> ${text(one.from ?? "none")} → ${text(one.to ?? "none")} </span>`} />`;

export const PlanEntries = ({ plan, most = 50 }) => {
  const counts = plan.counts ?? {};
  const told = COUNTS.filter((one) => counts[one] > 0);
  const moves = (plan.entries ?? []).filter((one) => one.verdict !== "Same");
  return html`<div>
    <p>${told.length ? told.map((one, index) => html`${index > 0 && ", "}<b>${counts[one]}</b> ${VERDICT_WORDS[one[0].toUpperCase() + one.slice(1)]}`) : html`<b>Nothing moves.</b>`}${counts.same > 0 && html` <small>${many(counts.same, "other request")} ${counts.same === 1 ? "stays" : "stay"} in place</small>`}</p>
    <ul class="plain">${moves.slice(0, most).map((entry) => html`<li key=${`${entry.kind}/${entry.namespace}/${entry.name}`}><${State} tone=${VERDICTS[entry.verdict] ?? "calm"}>${VERDICT_WORDS[entry.verdict] ?? text(entry.verdict)}</${State}>${" "}<a href=${address("request", { namespace: entry.namespace ?? "", name: entry.name })}>${[entry.namespace, bare(entry.name)].filter(Boolean).join("/")}</a>
      <div><${Clusters} entry=${entry} side="left" /><${Clusters} entry=${entry} side="joined" /><${Resized} of=${entry.resized} system=${entry.dialect} /></div>
      ${["Lost", "Unplaced"].includes(entry.verdict) && html`<small>${text(entry.after?.message)}</small>`}</li>`)}</ul>
    ${moves.length > most && html`<p class="hint">and ${moves.length - most} more</p>`}
  </div>`;
};

/** Decisions and clusters that a plan is about, as a grid: what each would leave and get. */
export const Grid = ({ plan }) => {
  const moves = (plan.entries ?? []).filter((one) => one.verdict !== "Same").slice(0, 20);
  const name = (one) => (typeof one === "string" ? one : one.clusterName);
  const clusters = [...new Set(moves.flatMap((entry) => [...(entry.left ?? []), ...(entry.joined ?? [])].map(name)))].slice(0, 16);
  if (moves.length === 0 || clusters.length === 0) return null;
  const mark = (entry, cluster) => ((entry.left ?? []).map(name).includes(cluster) ? ["−", "went"] : (entry.joined ?? []).map(name).includes(cluster) ? ["+", "came"] : ["", ""]);
  return html`<div class="gridbox" tabindex="0" role="region" aria-label="Requests and clusters"><table class="grid"><thead><tr><th scope="col">request</th>${clusters.map((cluster) => html`<th scope="col">${cluster}</th>`)}</tr></thead>
    <tbody>${moves.map((entry) => html`<tr><th scope="row">${bare(entry.name)}</th>${clusters.map((cluster) => {
      const [sign, tone] = mark(entry, cluster);
      return html`<td class=${tone}>${sign && html`<span aria-label=${tone === "went" ? "leaves" : "gets"}>${sign}</span>`}</td>`;
    })}</tr>`)}</tbody></table></div>`;
};
