// Where Berth observes: which decisions of the other scheduler it would make otherwise, and why.

import { Live, clusterOf } from "./store.js";
import { html, Card, Command, Facet, Few, Problem, Stack, State, tally } from "./parts.js";
import { Resized } from "./plan.js";
import { VERDICTS, VERDICT_WORDS, address, many, requestAddress, systemOf, text } from "./words.js";

export const agrees = (decision) => (decision.status?.conditions ?? []).find((one) => one.type === "Agrees");

const Side = ({ sign, list, count, system }) => count > 0 && html`<ul class="contested">${list.slice(0, 3).map((one) => html`<li class=${sign === "+" ? "came" : "went"}>${sign} <a href=${clusterOf(system, one.clusterName).href}>${clusterOf(system, one.clusterName).label}</a>
  <small>${(one.reasons ?? []).map(text).join("; ")}${one.recorded?.score !== undefined ? ` (recorded score ${text(one.recorded.score)})` : ""}</small></li>`)}${count > 3 && html`<li class="more">and ${count - 3} more</li>`}</ul>`;

export class Agreement extends Live {
  paths() {
    return ["decisions", "clusterdecisions"];
  }
  render({ query, set }) {
    const all = this.decisions().filter(agrees);
    const says = tally(all, (one) => agrees(one).status);
    const differs = all.filter((one) => agrees(one).status !== "True" && (!query.verdict || one.status.wouldChange?.verdict === query.verdict));
    const parts = [["True", "good", "the same clusters"], ["Unknown", "warn", "cannot be said yet"], ["False", "bad", "other clusters"]]
      .map(([status, tone, label]) => ({ count: says.get(status) ?? 0, tone, label, href: address("agreement") }));
    return html`<section>
      <header><h1>Agreement</h1><span class="count" role="status">${all.length ? `${says.get("True") ?? 0} of ${many(all.length, "decision")} are the same` : ""}</span></header>
      <${Problem} of=${this.problem()} />
      ${all.length === 0 && html`<p class="empty">${this.whole() ? "Berth decides here by itself: there is no other scheduler to compare with." : "Reading …"}</p>`}
      ${all.length > 0 && html`<${Card} title="Would Berth decide the same?"><${Stack} parts=${parts} /><p class="legend">${parts.map((part) => html`<span><i class=${`swatch ${part.tone}`}></i>${part.count} ${part.label}</span>`)}</p></${Card}>`}
      <form class="filters" onSubmit=${(event) => event.preventDefault()}><${Facet} label="Difference" value=${query.verdict} word=${(one) => VERDICT_WORDS[one] ?? one} counts=${tally(all, (one) => one.status.wouldChange?.verdict)} set=${(verdict) => set({ verdict })} /></form>
      <ul class="differences">${differs.slice(0, 200).map((one) => {
        const change = one.status.wouldChange;
        return html`<li key=${`${one.metadata.namespace}/${one.metadata.name}`} class="card"><p>${change && html`<${State} tone=${VERDICTS[change.verdict] ?? "calm"}>${VERDICT_WORDS[change.verdict] ?? text(change.verdict)}</${State}> `}<a href=${requestAddress(one)}>${[one.metadata.namespace, one.metadata.name].filter(Boolean).join("/")}</a> ${text(change?.message ?? agrees(one).message)}</p>
          ${change?.knownDifference && html`<p><small>known difference: ${text(change.knownDifference)}</small></p>`}
          ${change && html`<div><${Side} sign="−" list=${change.losses ?? []} count=${change.lossCount} system=${systemOf(one)} /><${Side} sign="+" list=${change.gains ?? []} count=${change.gainCount} system=${systemOf(one)} /><${Resized} of=${change.resizes} system=${systemOf(one)} /></div>`}</li>`;
      })}</ul>
      <${Command} of="berth compare" />
    </section>`;
  }
}
