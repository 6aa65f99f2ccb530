// One cluster: who is here, who wanted it and why not, and what a drain would move.

import { Live, clusterOf } from "./store.js";
import { all, review } from "./api.js";
import { html, Card, Command, Problem, State, Table } from "./parts.js";
import { Capacity } from "./lists.js";
import { PlanEntries } from "./plan.js";
import { STATES, address, bare, compare, many, phaseTone, phaseWord, providerOf, reasonsOf, requestAddress, share, stateOf, systemOf, text } from "./words.js";

/** The most decisions of which everybody is asked at once, whether they want this cluster. */
const ASKED = 500;

const Line = ({ of }) => html`<li><a href=${requestAddress(of)}>${[of.metadata.namespace, of.spec?.sourceRef?.name].filter(Boolean).join("/")}</a> <${State} tone=${phaseTone(of.status?.phase)}>${phaseWord(of.status?.phase)}</${State}> <small>on ${share(of)} ${text(of.here?.state)}${of.here?.score !== undefined ? ` score ${text(of.here.score)}` : ""}</small></li>`;

export class Cluster extends Live {
  paths() {
    return ["targets", "decisions", "clusterdecisions"];
  }
  async wanted() {
    const { name } = this.props.query;
    this.setState({ asking: true });
    const selector = `&fieldSelector=${encodeURIComponent(`target=${name},picked=false`)}`;
    const read = async (path) => {
      try {
        return await all(path, undefined, selector);
      } catch (problem) {
        if (problem.code === 403 || problem.code === 404) return [];
        throw problem;
      }
    };
    try {
      const lists = await Promise.all(["candidates", "clustercandidates"].map(read));
      this.setState({ candidates: lists.flat(), problem: null, asking: false });
    } catch (problem) {
      this.setState({ problem, asking: false });
    }
  }
  async drain() {
    this.setState({ draining: true });
    try {
      this.setState({ plan: (await review({ changes: [{ drain: this.props.query.name }] })).plan, drained: null, draining: false });
    } catch (drained) {
      this.setState({ drained, draining: false });
    }
  }
  render({ query }, { candidates, plan, problem, drained, asking, draining }) {
    const { name } = query;
    const target = this.targets().find((one) => one.metadata.name === name);
    const system = systemOf({ metadata: { name } });
    const own = target?.spec?.clusterName ?? bare(name);
    const here = this.decisions().filter((one) => systemOf(one) === system)
      .map((one) => ({ ...one, here: (one.status?.decisions ?? []).find((place) => place.clusterName === own) })).filter((one) => one.here)
      .sort((a, b) => compare(`${a.metadata.namespace}/${a.metadata.name}`, `${b.metadata.namespace}/${b.metadata.name}`));
    const condition = (target?.status?.conditions ?? []).find((one) => one.type === "Ready");
    const labels = Object.entries(target?.metadata.labels ?? {});
    const few = this.decisions().length <= ASKED;
    const columns = [
      { title: "Request", sort: (row) => row.spec.decision, cell: (row) => html`<a href=${address("request", { namespace: row.metadata.namespace ?? "", name: row.spec.decision })}>${[row.metadata.namespace, bare(row.spec.decision)].filter(Boolean).join("/")}</a>` },
      { title: "Verdict", sort: (row) => text(row.status.feasible), cell: (row) => html`<${State} tone=${row.status.feasible ? "calm" : row.status.outOfScope ? "off" : "bad"}>${row.status.feasible ? "not picked" : row.status.outOfScope ? "not to choose from" : "refused"}</${State}>` },
      { title: "Why", wide: true, cell: (row) => html`<span class="why">${reasonsOf(row.status).join("; ")}</span>` },
    ];
    const brief = (row) => html`<div class="brief"><div>${columns[1].cell(row)} ${columns[0].cell(row)}</div><p>${reasonsOf(row.status).join("; ")}</p></div>`;
    return html`<section>
      <header><h1>${target ? clusterOf(system, own).label : bare(name)}</h1><span class="count">${target ? `${text(target.spec?.sourceRef?.kind)} · ` : ""}${system}${target ? ` · ${providerOf(target)} · ${text(target.status?.region) || "no region"}` : ""}</span>
        <span class="actions"><a class="button" href=${address("try", { drain: name })}>Try a change</a></span></header>
      <${Problem} of=${this.problem()} />
      ${!target && this.whole() && !this.problem() && html`<p class="empty">${this.denied().includes("targets") ? "You may not read clusters here; what they have of yours is below." : `There is no cluster ${own}. It may be gone.`}</p>`}
      ${target && html`<p class="verdict"><${State} tone=${STATES[stateOf(target)]}>${stateOf(target)}</${State}> ${text(condition?.message)}</p>`}
      ${(target?.status?.warnings ?? []).map((one) => html`<p class="problem calm" role="status">${text(one)}</p>`)}
      <div class="sides even">
        <div class="column">
          ${target && html`<${Card} title="What it has">
            <div class="stackup"><${Capacity} of=${target.status?.capacity} /></div>
            ${(target.status?.taints ?? []).length > 0 && html`<p><b>Taints</b> ${target.status.taints.map((one) => html`<span class="chip">${text(one.key)}${one.value ? `=${text(one.value)}` : ""}${one.effect ? `:${text(one.effect)}` : ""}</span>`)}</p>`}
            ${labels.length > 0 && html`<p><b>Labels</b> ${labels.map(([key, value]) => html`<span class="chip">${key}=${text(value)}</span>`)}</p>`}</${Card}>`}
          <${Card} title="Who is here" note=${many(here.length, "request")}>
            ${here.length ? html`<ul class="plain">${here.slice(0, 200).map((one) => html`<${Line} key=${`${one.metadata.namespace}/${one.metadata.name}`} of=${one} />`)}</ul>` : html`<p class="empty">${this.whole() ? "No request of those that you may read." : "Reading …"}</p>`}
            ${here.length > 200 && html`<p class="hint">and ${here.length - 200} more</p>`}</${Card}>
        </div>
        <div class="column">
          <${Card} title="What would a drain move?" note="decided again; nothing is saved">
            ${!plan && html`<p><button disabled=${draining} onClick=${() => this.drain()}>${draining ? "Deciding …" : "Drain it, on paper"}</button></p>`}
            <${Problem} of=${drained} />
            ${plan && html`<${PlanEntries} plan=${plan} />`}
            <${Command} of=${`berth plan --drain ${name}`} /></${Card}>
        </div>
      </div>
      <${Card} title="Who wanted it, and why not" note="every request that it is not picked for">
        ${!candidates && html`<p><button disabled=${asking} onClick=${() => this.wanted()}>${asking ? "Asking …" : few ? "Ask every request" : `Ask all ${this.decisions().length} requests`}</button></p>`}
        <${Problem} of=${problem} />
        ${candidates && html`<${Table} label="Requests that it is not picked for" columns=${columns} rows=${candidates.filter((one) => !one.status.outOfScope)} brief=${brief} id=${(row) => `${row.metadata.namespace}/${row.metadata.name}`} empty="No request that could choose it is placed elsewhere." />`}
        <${Command} of=${`kubectl get ${system === "fleet" ? "candidates,clustercandidates" : "candidates"} -A --field-selector target=${name},picked=false`} /></${Card}>
      <${Command} of=${`berth why cluster/${own}`} />
    </section>`;
  }
}
