// What would change a decision, as the server finds it: grouped by edit, with how many clusters each lets in. Nothing is written.

import { Component } from "./vendor/preact.module.js";
import { get, decisionPath } from "./api.js";
import { html, Card, Command, Few, Problem } from "./parts.js";
import { address, clusterAddress, many, text } from "./words.js";

const WHOSE = { Target: "the owner of the cluster has to", Fleet: "an administrator has to" };
const RANK = { Request: 0, Fleet: 1, Target: 2 };

/** One edit, whatever clusters it lets in. Edits of one request are the same for all; those of clusters differ by the name alone. */
const same = (set, cluster) => set.changes.map((change) => text(change.message).replaceAll(cluster, "…")).join("; ");

/** The edits that help, those that the asker may make and that let in the most first. */
export const edits = (targets) => {
  const groups = new Map();
  for (const target of targets) {
    for (const set of target.advice ?? []) {
      const key = `${same(set, target.clusterName)}|${set.then}`;
      if (!groups.has(key)) groups.set(key, { set, words: same(set, target.clusterName), clusters: [] });
      groups.get(key).clusters.push(target);
    }
  }
  const whose = (group) => Math.max(0, ...group.set.changes.map((change) => RANK[change.whose] ?? 0));
  return [...groups.values()].sort((a, b) => whose(a) - whose(b)
    || Number(b.set.then === "Picked") - Number(a.set.then === "Picked")
    || a.set.changes.length - b.set.changes.length || b.clusters.length - a.clusters.length);
};

const Edit = ({ group, system, namespace, name }) => {
  const { set, clusters } = group;
  const own = set.changes.every((change) => change.whose === "Request");
  const others = [...new Set(set.changes.map((change) => WHOSE[change.whose]).filter(Boolean))];
  const command = set.patches.find((patch) => patch.command)?.command;
  const patch = own && set.patches.find((one) => one.type === "json");
  const words = clusters.length === 1 ? set.changes.map((change) => text(change.message)).join("; ") : group.words;
  return html`<li><span>${words}</span>
    <b> → ${clusters.length === 1 ? html`<a href=${clusterAddress(clusters[0].target || `${clusters[0].clusterName}.${system}`)}>${clusters[0].clusterName}</a>` : many(clusters.length, "cluster")} ${set.then === "Picked" ? (clusters.length === 1 ? "would be picked" : "would be picked, each by this alone") : clusters.length === 1 ? "would fit, others rank higher" : "would fit"}</b>
    ${clusters.length > 1 && html`<small><${Few} of=${clusters} most=${3} each=${(one, index) => html`${index > 0 && ", "}${one.clusterName}`} /></small>`}
    ${others.length > 0 && html`<small>${others.join(", ")} change it${set.allowed === false ? "; you may not" : ""}</small>`}
    ${others.length === 0 && set.allowed === false && html`<small>you may not change all of it</small>`}
    ${patch && html`<p><a href=${address("try", { namespace, name, patch: JSON.stringify(patch.patch) })}>try it</a></p>`}
    ${command && html`<${Command} of=${text(command)} />`}</li>`;
};

const FEW = 5;

/** Asked for at once where a request lacks something, and otherwise when somebody wants it. */
export class Advice extends Component {
  componentDidMount() {
    if (this.props.now) this.ask();
  }
  async ask() {
    const { namespace, name } = this.props;
    this.setState({ asked: true });
    try {
      this.setState({ status: (await get(`${decisionPath(namespace, name)}/advice`)).status, problem: null });
    } catch (problem) {
      this.setState({ problem });
    }
  }
  render({ namespace, name, system }, { status, problem, asked, more }) {
    const groups = status ? edits(status.targets) : [];
    const notes = status ? [...new Set(status.targets.flatMap((target) => target.rejections.map((one) => text(one.note)).filter(Boolean)))] : [];
    return html`<${Card} title="What would change it" note="each suggestion was tried; nothing is saved">
      ${!asked && html`<p><button onClick=${() => this.ask()}>How could another cluster fit?</button></p>`}
      ${asked && !status && !problem && html`<p class="empty">Trying …</p>`}
      <${Problem} of=${problem} />
      <ol class="advice">${groups.slice(0, more ? groups.length : FEW).map((group) => html`<${Edit} group=${group} system=${system} namespace=${namespace} name=${name} />`)}</ol>
      ${groups.length > FEW && !more && html`<p><button class="small" onClick=${() => this.setState({ more: true })}>${many(groups.length - FEW, "more suggestion")}</button></p>`}
      ${status && groups.length === 0 && html`<p class="empty">${status.targets.length ? "No single change makes a cluster fit." : "There is no further cluster that it could use."}</p>`}
      ${notes.slice(0, 3).map((note) => html`<p class="hint">${note}</p>`)}
      ${status?.remainingTargets > 0 && html`<p class="hint">The nearest ${status.targets.length} clusters were tried; ${many(status.remainingTargets, "more cluster")} left out.</p>`}
      ${status?.gaveUp && html`<p class="hint">The search ended early: ${text(status.gaveUp)}</p>`}
    </${Card}>`;
  }
}
