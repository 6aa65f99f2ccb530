// The two long lists: every request, and every cluster.

import { Live, clusterOf, shownNamespace } from "./store.js";
import { html, State, Problem, Used, Command, Table, Facet, Search, Count, Few, tally } from "./parts.js";
import { FleetMap } from "./map.js";
import { STATES, ago, bare, clusterAddress, compare, divided, phaseRank, phaseTone, phaseWord, placesOf, portion, providerOf, regionOf, requestAddress, shape, share, standing, stateOf, systemOf, text, usage } from "./words.js";

/** The words a search looks at, made once per object: there may be tens of thousands. */
const texts = new WeakMap();
const hay = (item) => {
  if (!texts.has(item)) {
    const { message, reason, region, provider } = item.status ?? {};
    texts.set(item, `${item.metadata.namespace ?? ""}/${item.metadata.name} ${JSON.stringify(item.metadata.labels ?? {})} ${text(message)} ${text(reason)} ${text(region)} ${text(provider)}`.toLowerCase());
  }
  return texts.get(item);
};

/** Whether an item has every word; without words nothing is looked at. */
export const search = (typed) => {
  const words = (typed ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return (item) => words.every((word) => hay(item).includes(word));
};

const phaseOf = (item) => item.status?.phase ?? "Pending";
const nameOf = (item) => item.spec?.sourceRef?.name ?? item.metadata.name;
const full = (item) => `${item.metadata.namespace ?? ""}/${item.metadata.name}`;
/** Problems first, then by name. */
const worst = (a, b) => phaseRank(phaseOf(a)) - phaseRank(phaseOf(b)) || compare(full(a), full(b));
const isOf = (cause) => (item) => `${phaseOf(item)}/${systemOf(item)}/${shape(item.status?.message)}` === cause;

/** The name of a cluster, which leads to it, with what it gets where something is divided. */
export const Chip = ({ system, name, amount }) => {
  const { href, label } = clusterOf(system, name);
  return html`<a class="chip" href=${href}>${portion(label, amount)}</a>`;
};

export const Where = ({ of }) => {
  const places = placesOf(of);
  if (places.length === 0) return null;
  const count = places.length > 1 || of.status?.wanted > places.length;
  const told = divided(of) || (count && share(of));
  return html`${told && html`<b>${told}</b> `}<${Few} of=${places} most=${3} each=${(one) => html`<${Chip} system=${systemOf(of)} name=${one.clusterName} amount=${one.amount} />`} />`;
};

const why = (item) => (placesOf(item).length && phaseOf(item) === "Bound" ? "" : text(item.status?.message || item.status?.reason));

export class Requests extends Live {
  paths() {
    return ["decisions", "clusterdecisions"];
  }
  render({ query, set }) {
    const all = this.decisions();
    const filters = {
      phase: (item) => phaseOf(item) === query.phase,
      system: (item) => systemOf(item) === query.system,
      namespace: (item) => item.metadata.namespace === query.namespace,
      reason: (item) => item.status?.reason === query.reason,
      cause: isOf(query.cause),
    };
    const matches = search(query.search);
    /** All that is left with every filter but this one. */
    const but = (left) => {
      const active = Object.keys(filters).filter((name) => name !== left && query[name]).map((name) => filters[name]);
      return all.filter((item) => active.every((holds) => holds(item)) && matches(item));
    };
    const rows = but("").sort(worst);
    const columns = [
      { title: "State", sort: (row) => phaseRank(phaseOf(row)), cell: (row) => html`<${State} tone=${phaseTone(phaseOf(row))}>${phaseWord(phaseOf(row))}</${State}>` },
      { title: "Request", sort: nameOf, cell: (row) => html`<a href=${requestAddress(row)}>${nameOf(row)}</a>` },
      { title: "Kind", sort: (row) => text(row.spec?.sourceRef?.kind), cell: (row) => text(row.spec?.sourceRef?.kind) },
      { title: "Namespace", sort: (row) => row.metadata.namespace ?? "", cell: (row) => text(row.metadata.namespace) },
      { title: "System", sort: systemOf, cell: systemOf },
      { title: "Where, or why not", wide: true, sort: (row) => placesOf(row).length, cell: (row) => html`<${Where} of=${row} /> <span class="why">${why(row)}</span>` },
      { title: "Age", sort: (row) => text(row.metadata.creationTimestamp), cell: (row) => ago(row.metadata.creationTimestamp) },
    ];
    const brief = (row) => html`<div class="brief"><div><${State} tone=${phaseTone(phaseOf(row))}>${phaseWord(phaseOf(row))}</${State}> <a href=${requestAddress(row)}>${nameOf(row)}</a> <small>${text(row.metadata.namespace)} · ${systemOf(row)}</small></div><p>${standing(row)}</p></div>`;
    const field = query.phase ? ` --field-selector status.phase=${query.phase}${query.system ? `,spec.dialect=${query.system}` : ""}` : query.system ? ` --field-selector spec.dialect=${query.system}` : "";
    const kinds = query.system === "fleet" ? "clusterdecisions" : "decisions,clusterdecisions";
    return html`<section class="fill">
      <header><h1>Requests</h1><${Count} shown=${rows.length} all=${all.length} what="requests" whole=${this.whole()} /></header>
      <form class="filters" onSubmit=${(event) => event.preventDefault()}>
        <${Search} value=${query.search} set=${(value) => set({ search: value })} />
        <${Facet} label="State" value=${query.phase} word=${phaseWord} counts=${[...tally(but("phase"), phaseOf)].sort((a, b) => phaseRank(a[0]) - phaseRank(b[0]))} set=${(phase) => set({ phase })} />
        <${Facet} label="System" value=${query.system} counts=${tally(but("system"), systemOf)} set=${(system) => set({ system })} />
        <${Facet} label="Namespace" value=${query.namespace} counts=${tally(but("namespace"), (item) => item.metadata.namespace)} set=${(namespace) => set({ namespace })} />
        <${Facet} label="Reason" value=${query.reason} counts=${tally(but("reason"), (item) => item.status?.reason)} set=${(reason) => set({ reason })} />
        ${query.cause && html`<button type="button" class="small" onClick=${() => set({ cause: "" })}>one cause ✕</button>`}
      </form>
      <${Problem} of=${this.problem()} />
      <${Table} label="Requests" tall columns=${columns} rows=${rows} brief=${brief} href=${requestAddress} id=${full}
        empty=${!this.whole() ? "Reading requests …" : all.length ? "No request matches these filters." : "There is no request to see here. kubectl get decisions,clusterdecisions -A lists what you may read."} />
      <${Command} of=${`kubectl get ${kinds} ${query.namespace || shownNamespace().namespace ? `-n ${query.namespace || shownNamespace().namespace}` : "-A"}${field}`} />
    </section>`;
  }
}

export const Capacity = ({ of }) => (of ?? []).map((one) => {
  const limit = one.limit === undefined ? "" : ` of ${text(one.limit)}`;
  return html`<${Used} value=${Number.parseFloat(one.used ?? 0)} most=${Number.parseFloat(one.limit)} label=${`${text(one.used ?? 0)}${limit} ${text(one.name)}`} />`;
});

const ready = (item) => (item.status?.conditions ?? []).find((one) => one.type === "Ready");
const taint = (one) => `${text(one.key)}${one.value ? `=${text(one.value)}` : ""}${one.effect ? `:${text(one.effect)}` : ""}`;
/** Why a cluster is not ready, or the taints that keep requests away. */
const trouble = (item) => (stateOf(item) === "not ready" ? text(ready(item)?.message || ready(item)?.reason) : (item.status?.taints ?? []).map(taint).join(", "));

const KEPT_AWAY = ["cordoned", "tainted"];

export class Fleet extends Live {
  paths() {
    return ["targets"];
  }
  render({ query, set }) {
    const all = this.targets();
    const filters = {
      state: (item) => (query.state === "kept away" ? KEPT_AWAY.includes(stateOf(item)) : stateOf(item) === query.state),
      system: (item) => systemOf(item) === query.system,
      provider: (item) => providerOf(item) === query.provider,
      region: (item) => regionOf(item) === query.region,
    };
    const matches = search(query.search);
    const but = (left) => {
      const active = Object.keys(filters).filter((name) => name !== left && query[name]).map((name) => filters[name]);
      return active.length || query.search ? all.filter((item) => active.every((holds) => holds(item)) && matches(item)) : all;
    };
    const found = but("");
    const rows = [...found].sort((a, b) => compare(a.metadata.name, b.metadata.name));
    const columns = [
      { title: "State", sort: (row) => Object.keys(STATES).indexOf(stateOf(row)), cell: (row) => html`<${State} tone=${STATES[stateOf(row)]}>${stateOf(row)}</${State}>` },
      { title: "Cluster", sort: (row) => row.metadata.name, cell: (row) => html`<a href=${clusterAddress(row.metadata.name)}>${bare(row.metadata.name)}</a>` },
      { title: "System", sort: systemOf, cell: systemOf },
      { title: "Provider", sort: providerOf, cell: (row) => text(row.status?.provider).toLowerCase() },
      { title: "Region", sort: regionOf, cell: (row) => text(row.status?.region) },
      { title: "Used", sort: (row) => usage(row) ?? -1, cell: (row) => html`<${Capacity} of=${row.status?.capacity} />` },
      { title: "Trouble", wide: true, cell: (row) => html`<span class="why">${trouble(row)}</span>` },
    ];
    const brief = (row) => html`<div class="brief"><div><${State} tone=${STATES[stateOf(row)]}>${stateOf(row)}</${State}> <a href=${clusterAddress(row.metadata.name)}>${bare(row.metadata.name)}</a> <small>${systemOf(row)}</small></div><p>${[text(row.status?.provider), text(row.status?.region), trouble(row)].filter(Boolean).join(" · ")}</p></div>`;
    return html`<section class="fill">
      <header><h1>Fleet</h1><${Count} shown=${rows.length} all=${all.length} what="clusters" whole=${this.whole()} /></header>
      <form class="filters" onSubmit=${(event) => event.preventDefault()}>
        <${Search} value=${query.search} set=${(value) => set({ search: value })} />
        <${Facet} label="State" value=${query.state} counts=${tally(but("state"), stateOf)} set=${(state) => set({ state })} />
        <${Facet} label="System" value=${query.system} counts=${tally(but("system"), systemOf)} set=${(system) => set({ system })} />
        <${Facet} label="Provider" value=${query.provider} counts=${tally(but("provider"), providerOf)} set=${(provider) => set({ provider })} />
        <${Facet} label="Region" value=${query.region} counts=${tally(but("region"), regionOf)} set=${(region) => set({ region })} />
        <button type="button" class="small" aria-pressed=${query.map ? "true" : "false"} onClick=${() => set({ map: query.map ? "" : "yes" })}>map</button>
      </form>
      <${Problem} of=${this.problem()} />
      ${query.map && html`<${FleetMap} targets=${found} height=${260} />`}
      <${Table} label="Clusters" tall columns=${columns} rows=${rows} brief=${brief} href=${(row) => clusterAddress(row.metadata.name)} id=${(row) => row.metadata.name}
        empty=${!this.whole() ? "Reading clusters …" : all.length ? "No cluster matches these filters." : "There is no cluster to see here. kubectl get targets lists what you may read."} />
      <${Command} of="kubectl get targets -o wide" />
    </section>`;
  }
}
