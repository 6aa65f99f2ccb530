// How one decision changed: newest first, kept current by a watch.

import { Component } from "./vendor/preact.module.js";
import { follow, get, decisionPath } from "./api.js";
import { html, text, State, Problem, Kubectl } from "./parts.js";

const TONES = { Bound: "good", Fits: "good", Grown: "good", Moved: "warn", Shrunk: "warn", Removed: "warn", Lost: "bad", Unplaced: "bad" };

/** Why it changed, as a sentence. */
const why = (cause) => {
  switch (cause?.type) {
    case "Object": {
      const place = [cause.namespace, cause.name].filter(Boolean).map(text).join("/") || "in another namespace";
      const by = cause.fieldManager ? ` with ${text(cause.fieldManager)}` : "";
      const more = cause.more ? `, and ${text(cause.more)} more changes` : "";
      return `${text(cause.kind)} ${place} was ${text(cause.verb).toLowerCase()}${by}${more}`;
    }
    case "Request": return "a Binding was created";
    case "Time": return "its time came";
    case "Unseen": return "it changed while no server recorded";
    default: return text(cause?.type);
  }
};

const phase = (side) => side && `${text(side.phase)}${side.reason ? ` (${text(side.reason)})` : ""}`;

/** One cluster that came or went, and what was said of it. */
const Moved = ({ of }) => html`<li class=${of.change === "Joined" ? "joined" : "left"}>
  <strong>${of.change === "Joined" ? "+" : "−"} ${text(of.clusterName)}</strong>
  ${of.score !== undefined && html` <span class="chip">score ${text(of.score)}</span>`}
  ${(of.scores ?? []).map((one) => html`<span class="chip">${text(one.plugin)} ${text(one.weighted)}</span>`)}
  ${(of.rejections ?? []).map((one) => html`<span class="refusal">✕ ${text(one.plugin)}/${text(one.reason)}: ${text(one.message)}</span>`)}
</li>`;

const More = ({ count, sign }) => count > 0 && html`<li class="more">${sign} ${count} more</li>`;

const Step = ({ of }) => {
  const clusters = of.clusters ?? [];
  const of_change = (change) => clusters.filter((one) => one.change === change).length;
  const counted = (of.reasons ?? []).filter((one) => one.to !== undefined && one.from !== one.to);
  return html`<li class="step">
    <p><time datetime=${text(of.at)}>${text(of.at).slice(0, 19).replace("T", " ")}Z</time>
      <span class=${`state ${TONES[of.change] ?? "calm"}`}>${text(of.change)}</span>
      <span>${why(of.cause)}</span>${of.actor?.user && html`<span class="more">by ${text(of.actor.user)}</span>`}</p>
    <p>${of.from && html`<span class="more">${phase(of.from)} → </span>`}${of.to ? html`<${State} of=${of.to.phase} />` : "gone"}
      <span class="message"> ${text(of.to?.reason)} ${text(of.to?.message)}</span></p>
    <ul>${clusters.map((one) => html`<${Moved} of=${one} />`)}
      <${More} count=${(of.joinedCount ?? 0) - of_change("Joined")} sign="+" />
      <${More} count=${(of.leftCount ?? 0) - of_change("Left")} sign="−" /></ul>
    ${counted.length > 0 && html`<p class="counts">${counted.map((one) => html`<span class="chip">${text(one.plugin)}/${text(one.reason)} ${one.from === undefined ? "" : `${text(one.from)} → `}<strong>${text(one.to)}</strong></span>`)}</p>`}
  </li>`;
};

/** How long it is remembered. */
const kept = (status) => {
  if (!status) return "";
  if (!status.perDecision) return "The server remembers no changes: --history-per-decision is 0.";
  const where = { Memory: "in memory, since the server was started", Etcd: "in etcd" }[status.keptIn] ?? "in the server's database";
  return `The last ${status.perDecision} changes are remembered${status.maxAgeSeconds ? ` for ${Math.round(status.maxAgeSeconds / 3600)} hours` : ""}, ${where}.`;
};

export class Timeline extends Component {
  constructor() {
    super();
    this.state = { records: [], whole: false };
    this.end = new AbortController();
  }
  componentDidMount() {
    const { namespace, name } = this.props.query;
    const path = namespace ? `namespaces/${namespace}/decisionrecords` : "clusterdecisionrecords";
    const selector = `&fieldSelector=${encodeURIComponent(`decision=${name}`)}`;
    follow(path, this.end.signal, (items, problem, whole) => this.setState({ records: [...items.values()], problem, whole }), selector);
    get(`${decisionPath(namespace, name)}/history?limit=1`, this.end.signal)
      .then(({ status }) => this.setState({ status }), (problem) => this.end.signal.aborted || this.setState({ problem }));
  }
  componentWillUnmount() {
    this.end.abort();
  }
  render({ query, go }, { records, whole, problem, status }) {
    const { namespace, name } = query;
    // Named after the decision and a number that grows.
    const newest = [...records].sort((a, b) => (a.metadata.name < b.metadata.name ? 1 : -1));
    return html`<section>
      <header><h1>${text(name)}</h1><span class="count" role="status">${records.length} ${records.length === 1 ? "change" : "changes"}${namespace ? ` in ${namespace}` : ""}</span>
        <span class="actions"><button onClick=${() => go("decision", { namespace, name })}>Why?</button></span></header>
      <${Problem} of=${problem} />
      <ol class="timeline">${newest.map((one) => html`<${Step} key=${one.metadata.name} of=${one.spec} />`)}</ol>
      ${newest.length === 0 && !problem && html`<p class="empty">${whole ? "No change of it is remembered." : "Reading …"}</p>`}
      <p class="more">${kept(status)}</p>
      <${Kubectl} command=${`kubectl ${namespace ? `-n ${namespace} get decisionrecords` : "get clusterdecisionrecords"} --field-selector decision=${name}`} />
    </section>`;
  }
}
