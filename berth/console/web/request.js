// One request: where it is and why, in a sentence, in pictures, and with every reason of every cluster.

import { Live, shownNamespace, showNamespace } from "./store.js";
import { get, post, decisionPath } from "./api.js";
import { Advice } from "./advice.js";
import { Steps } from "./activity.js";
import { Funnel, Scores, Strip, Nearest, Everyone } from "./explain.js";
import { Chip } from "./lists.js";
import { html, Card, Command, Few, Problem, State } from "./parts.js";
import { address, clusters, divided, many, phaseTone, phaseWord, placesOf, systemOf, text, whyCommand } from "./words.js";

const GOOD = ["Scheduled", "Unchanged", "Provision"];

/** Where it stands by its report: what is said first. */
const headline = (decision, status) => {
  const wanted = decision?.status?.wanted;
  const have = decision ? placesOf(decision).length : (status.current ?? []).length;
  const picked = (status.picked ?? []).length;
  const feasible = (status.funnel ?? []).at(-1)?.after;
  const fit = feasible === undefined || feasible <= picked ? "" : ` ${many(feasible, "cluster")} would fit; ${picked === 1 ? "this one is" : "these are"} picked.`;
  if (!GOOD.includes(status.outcome) && status.outcome !== "Partial") return [phaseWord(decision?.status?.phase ?? "Unschedulable"), "bad", text(status.message)];
  if (wanted !== undefined && have < wanted && have > 0) return [`placed on ${have} of ${wanted} clusters`, "warn", text(status.message)];
  const whole = decision && divided(decision) ? `, ${divided(decision)}` : "";
  if (have > 0) return [`placed on ${wanted === undefined ? (have === 1 ? text(decision?.status?.decisions?.find((one) => !one.leaving)?.clusterName) : many(have, "cluster")) : clusters(decision)}${whole}`, "good", fit || (have === picked ? "" : text(status.message))];
  return [picked ? `would be placed on ${many(picked, "cluster")}` : phaseWord("Pending"), "warn", text(status.message)];
};

const contested = (decision) => (decision?.status?.conditions ?? []).find((one) => one.type === "Contested" && one.status === "True");

/** Amounts of what goes where, of systems that divide. */
const Amounts = ({ status }) => {
  const rows = (status.picked ?? []).filter((one) => one.amount !== undefined && one.amount !== null);
  if (rows.length === 0) return null;
  const most = Math.max(1, ...rows.map((one) => one.amount));
  const whole = status.amount ? `${status.amount.placed} of ${status.amount.wanted} ${text(status.amount.name)}` : "";
  return html`<${Card} title="Amounts" note=${whole}><ul class="amounts">${rows.map((one) => html`<li>${one.clusterName} <span class="track"><span class="good" style=${{ width: `${(100 * one.amount) / most}%` }}></span></span> ${one.amount}</li>`)}</ul></${Card}>`;
};

export class Request extends Live {
  paths() {
    return ["targets", "decisions", "clusterdecisions", "decisionrecords", "clusterdecisionrecords"];
  }
  componentDidMount() {
    super.componentDidMount();
    // Whoever follows a link to one namespace wants to see that one.
    const { namespace } = this.props.query;
    const scope = shownNamespace();
    if (namespace && scope.only && scope.namespace !== namespace) showNamespace(namespace);
    this.read();
  }
  async read() {
    const { namespace, name } = this.props.query;
    try {
      this.setState({ report: await get(`${decisionPath(namespace, name)}/scheduling`), refused: null });
    } catch (refused) {
      this.setState({ refused });
    }
  }
  async bind() {
    const { namespace, name } = this.props.query;
    const body = { apiVersion: "scheduling.berth.dev/v1alpha1", kind: "Binding", metadata: { name, ...(namespace && { namespace }) }, spec: {} };
    try {
      await post(`${decisionPath(namespace, name)}/binding`, body);
      await this.read();
    } catch (refused) {
      this.setState({ refused });
    }
  }
  render({ query, set, about, has }, { report, refused }) {
    const { namespace = "", name } = query;
    const decision = this.decisions().find((one) => one.metadata.name === name && (one.metadata.namespace ?? "") === namespace);
    const records = this.records().filter((one) => one.spec.decision === name && (one.metadata.namespace ?? "") === namespace);
    const status = report?.status;
    const source = (report ?? decision)?.spec?.sourceRef;
    const system = systemOf({ spec: report?.spec, metadata: { name } });
    const [word, tone, sentence] = status ? headline(decision, status) : decision ? [phaseWord(decision.status?.phase), phaseTone(decision.status?.phase), text(decision.status?.message)] : ["", "", ""];
    const candidates = status?.candidates ?? [];
    const short = tone !== "good";
    const misses = candidates.some((one) => !one.feasible && !one.picked && !one.outOfScope);
    const change = decision?.status?.wouldChange;
    const gone = refused?.code === 404;
    return html`<section>
      <header><h1>${text(source?.name ?? name)}</h1><span class="count">${text(source?.kind)}${namespace ? ` in ${namespace}` : ""} · ${system}</span>
        ${!gone && html`<span class="actions">${report && html`<a class="button" href=${address("try", { namespace, name })}>Try a change</a>`}
          <button onClick=${() => this.read()}>Decide again</button>
          ${about.writes && html`<button class="danger" onClick=${() => this.bind()}>Bind</button>`}</span>`}</header>
      ${word && html`<p class="verdict"><${State} tone=${tone}>${word}</${State}> ${sentence}</p>`}
      ${decision && placesOf(decision).length > 0 && html`<p class="places"><${Few} of=${placesOf(decision)} most=${12} each=${(one) => html`<${Chip} system=${system} name=${one.clusterName} amount=${one.amount} />`} /></p>`}
      ${contested(decision) && html`<p class="problem" role="status">${text(contested(decision).message)}</p>`}
      ${change && html`<p class="problem calm" role="status">Berth would decide otherwise: ${text(change.message)} <a href=${address("agreement")}>Agreement</a></p>`}
      ${(status?.warnings ?? []).map((warning) => html`<p class="problem calm" role="status">${text(warning)}</p>`)}
      <${Problem} of=${gone ? { message: `There is no request ${namespace ? `${namespace}/` : ""}${text(name)}. It may be gone, or have another name.` } : refused} />
      ${!report && !refused && html`<p class="empty">Reading …</p>`}
      ${report && html`<div class="sides even">
        <div class="column">
          ${candidates.length > 0 && html`<${Card} title=${`How ${many(candidates.length, "cluster")} became ${(status.picked ?? []).length}`} note="click a filter to see whom it refuses"><${Funnel} status=${status} pick=${(find) => { set({ find }); document.getElementById("everyone")?.scrollIntoView(); }} /></${Card}>`}
          ${misses && html`<${Card} title="Nearest misses" note="the fewest changes first"><${Nearest} candidates=${candidates} /></${Card}>`}
          ${has.has(namespace ? "decisions/advice" : "clusterdecisions/advice") && html`<${Advice} key=${short} now=${short} namespace=${namespace} name=${name} system=${system} />`}
        </div>
        <div class="column">
          ${candidates.length > 0 && html`<${Card} title="Every cluster"><${Strip} candidates=${candidates} /></${Card}>`}
          ${candidates.some((one) => one.rank !== undefined) && html`<${Card} title="Scores"><${Scores} status=${status} system=${system} /></${Card}>`}
          <${Amounts} status=${status} />
          ${(records.length > 0 || has.has("decisionrecords")) && html`<${Card} title="History" note=${records.length ? many(records.length, "change") : ""}>
            ${records.length ? html`<${Steps} records=${records} />` : html`<p class="empty">No changes of it are recorded.</p>`}</${Card}>`}
        </div>
      </div>
      ${candidates.length > 0 && html`<div id="everyone"><${Card} title="All verdicts"><${Everyone} candidates=${candidates} query=${query} set=${set} /></${Card}></div>`}
      ${(status.writes ?? []).length > 0 && html`<details><summary>What binding would write: ${many(status.writes.length, "object")}</summary><pre tabindex="0">${JSON.stringify(status.writes, null, 2)}</pre></details>`}`}
      ${report && html`<${Command} of=${whyCommand(report)} />`}
    </section>`;
  }
}
