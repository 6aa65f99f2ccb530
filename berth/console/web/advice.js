// What would have to change for a target to fit, as the server finds it. Nothing is decided here, and nothing is written.

import { Component } from "./vendor/preact.module.js";
import { get, decisionPath } from "./api.js";
import { html, text, Problem, Kubectl } from "./parts.js";

const reason = (one) => (one.plugin ? `${one.plugin}/${text(one.reason)}: ${text(one.message)}` : text(one.message));
const WHOSE = { Target: "the cluster's owner", Fleet: "the administrator" };

const Set = ({ set }) => html`<li>
  ${set.changes.map((change, index) => html`<span>${index > 0 ? "; " : ""}${text(change.message)}${WHOSE[change.whose] && html` <span class="chip">${WHOSE[change.whose]}</span>`}</span>`)}
  <span class=${`state ${set.then === "Picked" ? "good" : "calm"}`}>${set.then === "Picked" ? "then picked" : "then feasible"}</span>
  ${set.allowed === false && html` <span class="chip">you may not change all of it</span>`}
  ${set.patches.filter((patch) => patch.command).map((patch) => html`<${Kubectl} command=${text(patch.command)} />`)}
</li>`;

const Target = ({ target }) => html`<article class="advised">
  <h3>${text(target.target || target.clusterName)}</h3>
  <p class="message">${target.rejections.map(reason).join("; ")}</p>
  ${target.advice.length > 0 && html`<ol>${target.advice.map((set) => html`<${Set} set=${set} />`)}</ol>`}
  ${target.rejections.filter((one) => one.note).map((one) => html`<p class="empty">${text(one.note)}</p>`)}
</article>`;

/** Asked for when somebody wants it. */
export class Advice extends Component {
  async ask() {
    const { namespace, name } = this.props;
    try {
      this.setState({ status: (await get(`${decisionPath(namespace, name)}/advice`)).status, problem: null });
    } catch (problem) {
      this.setState({ problem });
    }
  }
  render({ namespace, name }, { status, problem }) {
    const resource = namespace ? `-n ${namespace} get decision` : "get clusterdecision";
    return html`<section class="advice" aria-label="Advice">
      <h2>Advice</h2>
      <p><button onClick=${() => this.ask()}>What would have to change?</button> <span class="count">tried by the server; nothing is stored</span></p>
      <${Problem} of=${problem} />
      ${status && html`<div>
        ${status.targets.map((target) => html`<${Target} key=${target.clusterName} target=${target} />`)}
        ${status.targets.length === 0 && html`<p class="empty">There is no cluster that it could go to and does not.</p>`}
        ${status.remainingTargets > 0 && html`<p class="count">and ${status.remainingTargets} more clusters</p>`}
        ${status.gaveUp && html`<p class="count">The search ended early: ${text(status.gaveUp)}</p>`}
        <${Kubectl} command=${`kubectl ${resource} ${name} --subresource=advice`} />
      </div>`}
    </section>`;
  }
}
