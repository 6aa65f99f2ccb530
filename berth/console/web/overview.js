// The first screen: what is there, and what is wrong.

import { Live } from "./store.js";
import { html, Card, Stack, Problem, tally } from "./parts.js";
import { FleetMap } from "./map.js";
import { Recent } from "./activity.js";
import { compare, text, many, stateOf, phaseRank, phaseTone, phaseWord, shape, systemOf, requestAddress, address } from "./words.js";

/** Decisions that need somebody, by what they have in common, the most first. */
export const causes = (decisions) => {
  const groups = new Map();
  for (const decision of decisions) {
    const { phase, reason, message } = decision.status ?? {};
    if (!["Unschedulable", "Partial", "Invalid"].includes(phase)) continue;
    const key = JSON.stringify([phase, systemOf(decision), reason, phase === "Partial" ? "" : shape(message)]);
    if (!groups.has(key)) groups.set(key, { phase, reason, system: systemOf(decision), members: [] });
    groups.get(key).members.push(decision);
  }
  return [...groups.values()].sort((a, b) => phaseRank(a.phase) - phaseRank(b.phase) || b.members.length - a.members.length);
};

const title = (group) => (group.phase === "Partial"
  ? `Placed on fewer clusters than asked for`
  : text(group.members[0].status.message));

const FEW = 6;

const Attention = ({ groups, whole, denied }) => html`<${Card} title="Needs attention" note="grouped by cause">
  ${groups.length === 0 && html`<p class="empty">${denied ? "You may not read requests here." : whole ? "Every request has what it asks for." : "Reading …"}</p>`}
  <ul class="causes">${groups.slice(0, FEW).map((group) => html`<li>
    <a class=${`number ${phaseTone(group.phase)}`} href=${address("requests", { cause: `${group.phase}/${group.system}/${shape(group.members[0].status.message)}` })}
      aria-label=${many(group.members.length, "request")}>${group.members.length}</a>
    <div><span>${title(group)}</span>
      <small>${group.system}${group.reason ? ` · ${text(group.reason)}` : ""} · ${group.members.slice(0, 3).map((one, index) => html`${index > 0 && ", "}<a href=${requestAddress(one)}>${[one.metadata.namespace, one.spec?.sourceRef?.name ?? one.metadata.name].filter(Boolean).join("/")}</a>`)}${group.members.length > 3 ? " …" : ""}</small></div></li>`)}</ul>
  ${groups.length > FEW && html`<p><a href=${address("requests")}>${many(groups.length - FEW, "more cause")}</a></p>`}
</${Card}>`;

const Systems = ({ decisions, denied }) => {
  const systems = [...tally(decisions, systemOf)].sort((a, b) => compare(a[0], b[0]));
  const rows = systems.map(([system, count]) => {
    const phases = tally(decisions.filter((one) => systemOf(one) === system), (one) => one.status?.phase ?? "Pending");
    const parts = [...phases].sort((a, b) => phaseRank(b[0]) - phaseRank(a[0]))
      .map(([phase, many_of]) => ({ count: many_of, tone: phaseTone(phase), label: phaseWord(phase), href: address("requests", { system, phase }) }));
    return html`<div class="system"><a href=${address("requests", { system })}>${system} <small>${count}</small></a><${Stack} parts=${parts} /></div>`;
  });
  return html`<${Card} title="Requests by system">${rows.length ? rows : html`<p class="empty">${denied ? "You may not read requests here." : "No requests."}</p>`}
    <p class="legend"><span><i class="swatch good"></i>placed</span><span><i class="swatch warn"></i>in part or waiting</span><span><i class="swatch bad"></i>no place</span></p></${Card}>`;
};

export class Overview extends Live {
  paths() {
    return ["targets", "decisions", "clusterdecisions", "decisionrecords", "clusterdecisionrecords"];
  }
  render({ has }) {
    const denied = this.denied();
    const blind = { clusters: denied.includes("targets"), requests: denied.includes("decisions") };
    const targets = this.targets();
    const decisions = this.decisions();
    const states = tally(targets, stateOf);
    const phases = tally(decisions, (one) => one.status?.phase);
    const kept = (states.get("cordoned") ?? 0) + (states.get("tainted") ?? 0);
    const numbers = [
      [blind.clusters ? null : targets.length, "clusters", "", address("fleet")],
      [blind.clusters ? null : states.get("not ready") ?? 0, "not ready", "bad", address("fleet", { state: "not ready" })],
      [blind.clusters ? null : kept, "cordoned or tainted", "warn", address("fleet", { state: "kept away" })],
      [blind.requests ? null : decisions.length, "requests", "", address("requests")],
      [blind.requests ? null : (phases.get("Unschedulable") ?? 0) + (phases.get("Invalid") ?? 0), "without a place", "bad", address("requests", { phase: "Unschedulable" })],
      [blind.requests ? null : phases.get("Partial") ?? 0, "short of clusters", "warn", address("requests", { phase: "Partial" })],
    ];
    return html`<div class="overview">
      <h1 class="unseen">Overview</h1>
      <${Problem} of=${this.problem()} />
      <div class="numbers">${numbers.map(([count, what, tone, href]) => html`<a class="card" href=${href}><b class=${count > 0 ? tone : ""}>${count === null ? "–" : count.toLocaleString("en")}</b> ${what}${count === null ? ", not yours to see" : ""}</a>`)}</div>
      <div class="sides">
        <${Card} title="Fleet" wide>${blind.clusters ? html`<p class="empty">You may not list clusters. A ClusterRoleBinding to <code>berth:target-viewer</code> gives that.</p>` : targets.length || this.whole() ? html`<${FleetMap} targets=${targets} />` : html`<p class="empty">Reading …</p>`}</${Card}>
        <div class="column">
          <${Attention} groups=${causes(decisions)} whole=${this.whole()} denied=${blind.requests} />
          <${Systems} decisions=${decisions} denied=${blind.requests} />
          ${has.has("decisionrecords") && html`<${Card} title="Activity" note="newest first"><${Recent} records=${this.records()} most=${6} />
            <p><a href=${address("activity")}>All activity</a></p></${Card}>`}
        </div>
      </div>
    </div>`;
  }
}
