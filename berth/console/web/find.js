// The palette: `/` finds clusters, requests and reasons by any part of their names.

import { Live } from "./store.js";
import { html } from "./parts.js";
import { bare, clusterAddress, phaseWord, requestAddress, stateOf, systemOf, text } from "./words.js";

const MOST = 12;

export class Find extends Live {
  paths() {
    return ["targets", "decisions", "clusterdecisions"];
  }
  componentDidMount() {
    super.componentDidMount();
    this.was = document.activeElement;
    this.field?.focus();
  }
  componentWillUnmount() {
    super.componentWillUnmount();
    this.was?.focus?.();
  }
  /** The best matches: names before what is said of them. */
  hits(typed) {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const has = (hay) => words.every((word) => hay.includes(word));
    const first = [];
    const second = [];
    const take = (name, said, hit) => {
      if (first.length >= MOST) return;
      if (has(name.toLowerCase())) first.push(hit());
      else if (second.length < MOST && has(`${name} ${said}`.toLowerCase())) second.push(hit());
    };
    for (const one of this.decisions()) {
      const name = [one.metadata.namespace, one.spec?.sourceRef?.name ?? one.metadata.name].filter(Boolean).join("/");
      take(name, `${text(one.status?.reason)} ${text(one.status?.message)} ${systemOf(one)}`, () => ({ href: requestAddress(one), name, what: text(one.spec?.sourceRef?.kind), said: `${phaseWord(one.status?.phase)}: ${text(one.status?.message)}` }));
    }
    for (const one of this.targets()) {
      take(bare(one.metadata.name), `${text(one.status?.region)} ${text(one.status?.provider)} ${stateOf(one)} ${systemOf(one)}`, () => ({ href: clusterAddress(one.metadata.name), name: bare(one.metadata.name), what: text(one.spec?.sourceRef?.kind) || "cluster", said: [stateOf(one), text(one.status?.region)].filter(Boolean).join(", ") }));
    }
    return [...first, ...second].slice(0, MOST);
  }
  render({ close }, { typed = "", at = 0 }) {
    const hits = this.hits(typed);
    const go = (hit) => {
      close();
      location.hash = hit.href;
    };
    const key = (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && hits[at]) go(hits[at]);
      else if (event.key === "ArrowDown") this.setState({ at: Math.min(hits.length - 1, at + 1) });
      else if (event.key === "ArrowUp") this.setState({ at: Math.max(0, at - 1) });
      else return;
      event.preventDefault();
    };
    return html`<div class="veil" onClick=${close}><div class="palette" role="dialog" aria-modal="true" aria-label="Find" onClick=${(event) => event.stopPropagation()}>
      <input type="search" aria-label="Find a cluster, a request, a reason" placeholder="a cluster, a request, a reason" value=${typed} ref=${(field) => (this.field = field)}
        onInput=${(event) => this.setState({ typed: event.target.value, at: 0 })} onKeyDown=${key} />
      <ul>${hits.map((hit, index) => html`<li class=${index === at ? "at" : ""}><a href=${hit.href} onClick=${close}><b>${hit.name}</b> <small>${hit.what}</small><small class="said">${hit.said}</small></a></li>`)}</ul>
      ${typed && hits.length === 0 && html`<p class="empty">Nothing here has that in its name, state or reason.</p>`}
    </div></div>`;
  }
}

const KEYS = [["/", "find a cluster, a request, a reason"], ["j  k", "next and previous row"], ["Enter", "open the row"], ["g o", "overview"], ["g r", "requests"], ["g f", "fleet"], ["g t", "try a change"], ["g a", "activity"], ["g g", "agreement"], ["?", "these keys"], ["Esc", "close"]];

export const Keys = ({ close }) => html`<div class="veil" onClick=${close}><div class="palette" role="dialog" aria-modal="true" aria-label="Keys">
  <h2>Keys</h2><dl>${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl><p><button onClick=${close} ref=${(button) => button?.focus()}>Close</button></p></div></div>`;
