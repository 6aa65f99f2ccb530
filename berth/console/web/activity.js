// What changed, newest first: of one request, of the overview, and of all on an axis of time.

import { Live, clusterOf } from "./store.js";
import { html, Card, Command, Facet, Problem, State, tally } from "./parts.js";
import { Resized } from "./plan.js";
import { VERDICTS, VERDICT_WORDS, address, causeOf, clock, compare, many, phaseWord, resizedBy, systemOf, text } from "./words.js";

const newest = (records) => [...records].sort((a, b) => compare(b.spec.at, a.spec.at) || compare(b.metadata.name, a.metadata.name));
const word = (record) => VERDICT_WORDS[record.spec.change] ?? text(record.spec.change);
const tone = (record) => VERDICTS[record.spec.change] ?? "calm";
const systemOfRecord = (record) => record.spec.dialect ?? systemOf({ metadata: { name: record.spec.decision } });
const where = (record) => address("request", { namespace: record.metadata.namespace ?? "", name: record.spec.decision });
const named = (record) => [record.metadata.namespace, record.spec.sourceRef?.name ?? record.spec.decision].filter(Boolean).join("/");

/** The clusters that came and went. */
const Moves = ({ record, most = 3 }) => {
  const { clusters = [], joinedCount = 0, leftCount = 0 } = record.spec;
  const shown = clusters.slice(0, most);
  const rest = Math.max(0, joinedCount + leftCount - shown.length);
  return html`${shown.map((one) => {
    const { href, label } = clusterOf(systemOfRecord(record), one.clusterName);
    return html`<a class=${one.change === "Joined" ? "came" : "went"} href=${href}>${one.change === "Joined" ? "+" : "−"} ${label}</a> `;
  })}${rest > 0 && html`<span class="more">and ${rest} more</span>`}<${Resized} of=${resizedBy(record)} system=${systemOfRecord(record)} />`;
};

/** The newest changes in short. */
export const Recent = ({ records, most }) => {
  const shown = newest(records).slice(0, most);
  if (shown.length === 0) return html`<p class="empty">No changes are recorded yet.</p>`;
  return html`<ul class="recent">${shown.map((record) => html`<li key=${record.metadata.name}><time datetime=${text(record.spec.at)}>${clock(record.spec.at)}</time>
    <div><${State} tone=${tone(record)}>${word(record)}</${State}> <a href=${where(record)}>${named(record)}</a>
      <small><${Moves} record=${record} /> ${causeOf(record.spec.cause)}</small></div></li>`)}</ul>`;
};

const side = (of) => of && `${phaseWord(of.phase)}${of.reason ? ` (${text(of.reason)})` : ""}`;

/** Dots on a line from the oldest to the newest. */
const Dots = ({ records }) => {
  if (records.length < 2) return null;
  const times = records.map((one) => Date.parse(one.spec.at));
  const first = times.reduce((a, b) => Math.min(a, b));
  const span = Math.max(1, times.reduce((a, b) => Math.max(a, b)) - first);
  return html`<div class="dots" aria-hidden="true">${records.map((one, index) => html`<i class=${tone(one)} style=${{ left: `${(100 * (times[index] - first)) / span}%` }}></i>`)}</div>
    <p class="axis" aria-hidden="true"><span>${clock(new Date(first).toISOString())}</span><span>${clock(new Date(first + span).toISOString())}</span></p>`;
};

/** Every change of one request, with what was said of each cluster then. */
export const Steps = ({ records }) => html`<div><${Dots} records=${records} />
  <ol class="steps">${newest(records).map((record) => html`<li key=${record.metadata.name} class="step">
    <p><time datetime=${text(record.spec.at)}>${text(record.spec.at).slice(0, 19).replace("T", " ")}Z</time> <${State} tone=${tone(record)}>${word(record)}</${State}> <span>${causeOf(record.spec.cause)}</span>${record.spec.actor?.user && html` <small>by ${text(record.spec.actor.user)}</small>`}</p>
    <p><small>${record.spec.from && `${side(record.spec.from)} → `}${record.spec.to ? side(record.spec.to) : "gone"}</small> ${text(record.spec.to?.message)}</p>
    <ul>${(record.spec.clusters ?? []).map((one) => html`<li class=${one.change === "Joined" ? "came" : "went"}>${one.change === "Joined" ? "+" : "−"} ${clusterOf(systemOfRecord(record), one.clusterName).label}
      <small>${one.score !== undefined && ` score ${text(one.score)}`}${(one.scores ?? []).map((score) => ` ${text(score.plugin)} ${text(score.weighted)}`).join(",")}${(one.rejections ?? []).map((reason) => ` ${text(reason.message)}`).join(";")}</small></li>`)}</ul>
    <${Resized} of=${resizedBy(record)} system=${systemOfRecord(record)} />
    ${record.spec.agreement?.message && html`<p><small>${text(record.spec.agreement.message)}</small></p>`}
  </li>`)}</ol></div>`;

const BINS = 60;

/** How many changes there were in each part of the time that is remembered. */
const Axis = ({ records }) => {
  if (records.length < 2) return null;
  const times = records.map((one) => Date.parse(one.spec.at));
  const first = times.reduce((a, b) => Math.min(a, b));
  const span = Math.max(1, times.reduce((a, b) => Math.max(a, b)) - first);
  const bins = Array.from({ length: BINS }, () => ({ good: 0, calm: 0, warn: 0, bad: 0 }));
  records.forEach((record, index) => {
    bins[Math.min(BINS - 1, Math.floor((BINS * (times[index] - first)) / span))][tone(record)] += 1;
  });
  const most = Math.max(...bins.map((bin) => bin.good + bin.calm + bin.warn + bin.bad));
  return html`<div class="bins" role="img" aria-label=${`${many(records.length, "change")} between ${new Date(first).toISOString()} and ${new Date(first + span).toISOString()}`}>
    ${bins.map((bin) => html`<span>${["calm", "good", "warn", "bad"].map((one) => bin[one] > 0 && html`<i class=${one} style=${{ height: `${(100 * bin[one]) / most}%` }}></i>`)}</span>`)}</div>
    <p class="axis" aria-hidden="true"><span>${clock(new Date(first).toISOString())}</span><span>${clock(new Date(first + span).toISOString())}</span></p>`;
};

const PAGE = 200;

export class Activity extends Live {
  paths() {
    return ["decisionrecords", "clusterdecisionrecords", "targets"];
  }
  render({ query, set, has }, { most = PAGE }) {
    const all = this.records();
    const holds = (record) => (!query.change || record.spec.change === query.change) && (!query.system || systemOfRecord(record) === query.system)
      && (!query.namespace || record.metadata.namespace === query.namespace);
    const rows = newest(all.filter(holds));
    return html`<section>
      <header><h1>Activity</h1><span class="count" role="status">${many(rows.length, "change")}, newest first, times in UTC</span></header>
      <form class="filters" onSubmit=${(event) => event.preventDefault()}>
        <${Facet} label="Change" value=${query.change} word=${(one) => VERDICT_WORDS[one] ?? one} counts=${tally(all, (one) => one.spec.change)} set=${(change) => set({ change })} />
        <${Facet} label="System" value=${query.system} counts=${tally(all, systemOfRecord)} set=${(system) => set({ system })} />
        <${Facet} label="Namespace" value=${query.namespace} counts=${tally(all, (one) => one.metadata.namespace)} set=${(namespace) => set({ namespace })} />
      </form>
      <${Problem} of=${this.problem()} />
      <div class="column">${rows.length > 1 && html`<${Card}><${Axis} records=${rows} /></${Card}>`}
        ${rows.length > 0 && html`<${Card}><${Recent} records=${rows} most=${most} /></${Card}>`}</div>
      ${rows.length > most && html`<p><button onClick=${() => this.setState({ most: most + PAGE })}>${many(rows.length - most, "older change")}</button></p>`}
      ${rows.length === 0 && !this.problem() && html`<p class="empty">${!has.has("decisionrecords") ? "There is no history here: it is kept by a running server." : this.whole() ? "No changes are recorded." : "Reading …"}</p>`}
      <${Command} of="kubectl get decisionrecords -A --sort-by=.spec.at" />
    </section>`;
  }
}
