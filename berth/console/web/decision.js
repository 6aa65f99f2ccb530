// One decision with every reason, and the same question with another request or fleet.

import { Component } from "./vendor/preact.module.js";
import { get, post, decisionPath } from "./api.js";
import { Advice } from "./advice.js";
import { html, text, State, Problem, Bar, Kubectl, Table } from "./parts.js";

const PAST = { Scheduled: "found a place", Unchanged: "stays where it is", Partial: "found some of the places it asks for",
  Unschedulable: "found no place", Provision: "gets a cluster of its own", Invalid: "cannot be understood",
  Ignored: "is left alone", Released: "gives its place back" };

/** How often each plugin refused for each reason, most first. */
export function counts(candidates) {
  const found = new Map();
  for (const candidate of candidates) {
    const rejections = candidate.rejections ?? [];
    // Of what is none to choose from, nothing else matters.
    for (const one of candidate.outOfScope ? rejections.slice(0, 1) : rejections) {
      const name = `${one.plugin}/${one.reason}`;
      found.set(name, (found.get(name) ?? 0) + 1);
    }
  }
  return [...found].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

/** So many candidates are all shown, also those that are none to choose from. */
const FEW = 50;

const names = (list) => list.map((one) => one.clusterName).join(", ");

/** The report of the scheduler, as it answers `scheduling` and reviews. */
export const Report = ({ status, title, before }) => {
  const candidates = status.candidates ?? [];
  const plugins = [...new Set(candidates.flatMap((one) => (one.rejections ?? []).map((rejection) => rejection.plugin)))].sort();
  const most = Math.max(0, ...candidates.flatMap((one) => [one.score ?? 0, ...(one.scores ?? []).map((score) => Math.abs(score.weighted ?? score.value ?? 0))]));
  const scored = candidates.some((one) => one.score !== undefined || (one.scores ?? []).length);
  const was = before && new Map((before.candidates ?? []).map((one) => [one.target, `${one.feasible}/${one.picked}`]));
  const columns = [
    { title: "Cluster", cell: (row) => html`<strong>${text(row.clusterName)}</strong>${was && was.get(row.target) !== `${row.feasible}/${row.picked}` && html` <span class="chip">changed</span>`}` },
    { title: "Verdict", cell: (row) => html`<span class=${`state ${row.picked ? "good" : row.feasible ? "calm" : "bad"}`}>${row.picked ? "Picked" : row.feasible ? `Feasible${row.reason ? `, ${text(row.reason)}` : ""}` : "Refused"}</span>` },
    { title: "Rank", narrow: true, cell: (row) => text(row.rank) },
    ...(scored ? [{ title: "Score", cell: (row) => row.score === undefined && !(row.scores ?? []).length ? "" : html`<${Bar} value=${row.score ?? 0} most=${most} label=${text(row.score ?? "")} />${(row.scores ?? []).map((one) => html`<span class="chip" title=${`${text(one.value)} × weight ${text(one.weight)}${one.message ? `: ${text(one.message)}` : ""}`}>${text(one.plugin)} ${text(one.weighted ?? one.value)}</span>`)}` }] : []),
    ...plugins.map((plugin) => ({
      title: plugin,
      cell: (row) => (row.rejections ?? []).filter((one) => one.plugin === plugin)
        .map((one) => html`<span class="refusal" title=${text(one.message)}>✕ ${text(one.reason)}</span>`),
    })),
  ];
  const shown = candidates.length > FEW ? candidates.filter((one) => !one.outOfScope || one.picked) : candidates;
  const rows = [...shown].sort((a, b) => Number(b.picked ?? false) - Number(a.picked ?? false));
  return html`<article>
    ${title && html`<h2>${title}</h2>`}
    <p class="verdict"><${State} of=${status.outcome} /> It ${PAST[status.outcome] ?? "was decided"}${(status.picked ?? []).length > 0 && status.picked.length < 6 ? html`: <strong>${names(status.picked)}</strong>` : ""}. <span class="message">${text(status.message)}</span></p>
    ${(status.warnings ?? []).map((warning) => html`<p class="problem" role="status">Warning: ${text(warning)}</p>`)}
    ${counts(candidates).length > 0 && html`<p class="counts">${counts(candidates).map(([name, count]) => html`<span class="chip"><strong>${count}</strong> ${name}</span>`)}</p>`}
    <${Table} label=${title ?? "Candidates"} columns=${columns} rows=${rows} id=${(row) => row.target} empty=${candidates.length ? "None of them is one to choose from." : "No cluster was considered."} />
    ${(status.writes ?? []).length > 0 && html`<details><summary>What binding would write: ${status.writes.length} ${status.writes.length === 1 ? "object" : "objects"}</summary><pre tabindex="0">${JSON.stringify(status.writes, null, 2)}</pre></details>`}
  </article>`;
};

export class Decision extends Component {
  componentDidMount() {
    this.read();
  }
  async read() {
    const { namespace, name } = this.props.query;
    try {
      this.setState({ report: await get(`${decisionPath(namespace, name)}/scheduling`), problem: null });
    } catch (problem) {
      this.setState({ problem });
    }
  }
  async bind() {
    const { namespace, name } = this.props.query;
    const body = { apiVersion: "scheduling.berth.dev/v1alpha1", kind: "Binding", metadata: { name, ...(namespace && { namespace }) }, spec: {} };
    try {
      await post(`${decisionPath(namespace, name)}/binding`, body);
      await this.read();
    } catch (problem) {
      this.setState({ problem });
    }
  }
  render({ query, about, go, has }, { report, problem }) {
    const { namespace, name } = query;
    const resource = namespace ? `-n ${namespace} get decision` : "get clusterdecision";
    return html`<section>
      <header><h1>${text(name)}</h1>${namespace && html`<span class="count">in ${namespace}</span>`}
        <span class="actions"><button onClick=${() => this.read()}>Decide again</button>
        ${has.has("decisions/history") && html`<button onClick=${() => go("timeline", { namespace, name })}>History</button>`}
        <button onClick=${() => go("whatif", { namespace, name })}>What if …</button>
        ${about.writes && html`<button class="danger" onClick=${() => this.bind()}>Bind</button>`}</span></header>
      <${Problem} of=${problem} />
      ${report ? html`<${Report} status=${report.status} />` : !problem && html`<p class="empty">Reading …</p>`}
      <${Kubectl} command=${`kubectl ${resource} ${name} --subresource=scheduling`} />
      ${has?.has(namespace ? "decisions/advice" : "clusterdecisions/advice") && html`<${Advice} namespace=${namespace} name=${name} />`}
    </section>`;
  }
}

const EXAMPLE = `{
  "inventory": "Overlay",
  "objects": []
}`;

export class WhatIf extends Component {
  constructor({ query }) {
    super();
    this.state = { draft: EXAMPLE, source: null };
    this.start(query);
  }
  async start({ namespace, name }) {
    if (!name) return;
    try {
      const report = await get(`${decisionPath(namespace, name)}/scheduling`);
      const { apiVersion, kind, name: source, namespace: within } = report.spec.sourceRef;
      const reference = { apiVersion, kind, name: source, ...(within && { namespace: within }) };
      this.setState({ before: report.status, draft: JSON.stringify({ reference, inventory: "Overlay", objects: [] }, null, 2) });
    } catch (problem) {
      this.setState({ problem });
    }
  }
  async ask() {
    try {
      const spec = JSON.parse(this.state.draft);
      const review = { apiVersion: "scheduling.berth.dev/v1alpha1", kind: "SchedulingReview", spec };
      const { status } = await post("schedulingreviews", review);
      this.setState({ after: status, problem: null });
    } catch (problem) {
      this.setState({ problem });
    }
  }
  render(_, { draft, before, after, problem }) {
    return html`<section>
      <header><h1>What if</h1><span class="count">nothing is stored</span></header>
      <label class="draft">The spec of a SchedulingReview, as JSON. Put the changed request in as <code>object</code>, or changed clusters into <code>objects</code>.
        <textarea spellcheck="false" rows="10" value=${draft} onInput=${(event) => this.setState({ draft: event.target.value })}></textarea></label>
      <p><button onClick=${() => this.ask()}>Ask</button></p>
      <${Problem} of=${problem} />
      <div class="sides">
        ${before && html`<${Report} title="Now" status=${before} />`}
        ${after && html`<${Report} title="Then" status=${after} before=${before} />`}
      </div>
      <${Kubectl} command="kubectl create -o yaml -f review.yaml" />
    </section>`;
  }
}
