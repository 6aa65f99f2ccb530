// The two lists: every target, and every decision, kept current by watches.

import { Component } from "./vendor/preact.module.js";
import { follow } from "./api.js";
import { html, text, State, Problem, Bar, Kubectl, Table, Choice, distinct } from "./parts.js";

/** Follows lists while it is shown. */
class Live extends Component {
  constructor() {
    super();
    this.state = { lists: {}, problems: {}, whole: false };
    this.end = new AbortController();
  }
  componentDidMount() {
    for (const path of this.paths()) {
      follow(path, this.end.signal, (items, problem, whole) =>
        this.setState((state) => ({
          lists: { ...state.lists, [path]: [...items.values()] },
          problems: { ...state.problems, [path]: problem },
          whole,
        })));
    }
  }
  componentWillUnmount() {
    this.end.abort();
  }
  all() {
    return Object.values(this.state.lists).flat();
  }
  problem() {
    return Object.values(this.state.problems).find(Boolean);
  }
}

const system = (item) => item.metadata.name.slice(item.metadata.name.lastIndexOf(".") + 1);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const byName = (a, b) => compare(a.metadata.namespace ?? "", b.metadata.namespace ?? "") || compare(a.metadata.name, b.metadata.name);

/** What a search looks at, made once per object: there may be tens of thousands. */
const texts = new WeakMap();
const hay = (item) => {
  if (!texts.has(item)) {
    texts.set(item, `${item.metadata.namespace ?? ""}/${item.metadata.name} ${JSON.stringify(item.metadata.labels ?? {})}`.toLowerCase());
  }
  return texts.get(item);
};

/** Whether an item has every word; without words nothing is looked at. */
const search = (typed) => {
  const words = (typed ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return (item) => words.every((word) => hay(item).includes(word));
};

const Count = ({ shown, all, what, whole }) =>
  html`<span class="count" role="status">${shown === all ? all : `${shown} of ${all}`} ${what}${whole ? "" : " …"}</span>`;

const Search = ({ value, set }) => html`<label class="search">Search
  <input type="search" value=${value ?? ""} placeholder="names and labels" onInput=${(event) => set(event.target.value)} /></label>`;

const condition = (item) => (item.status?.conditions ?? []).find((one) => one.type === "Ready");
const readiness = (item) => (condition(item)?.status !== "True" ? "Not ready" : item.status?.cordoned ? "Cordoned" : "Ready");

const Capacity = ({ of }) => (of ?? []).slice(0, 2).map((one) => {
  const used = Number.parseFloat(one.used ?? 0);
  const limit = Number.parseFloat(one.limit);
  return html`<${Bar} value=${used} most=${limit} label=${`${text(one.name)} ${text(one.used ?? 0)}${one.limit === undefined ? "" : ` of ${text(one.limit)}`}`} />`;
});

export class Fleet extends Live {
  paths() {
    return ["targets"];
  }
  render({ query, set }) {
    const all = this.all();
    const matches = search(query.search);
    const rows = all
      .filter((item) => (!query.system || system(item) === query.system)
        && (!query.region || item.status?.region === query.region)
        && (!query.ready || readiness(item) === query.ready)
        && matches(item))
      .sort(byName);
    const columns = [
      { title: "Target", cell: (row) => html`<strong>${row.metadata.name.slice(0, row.metadata.name.lastIndexOf("."))}</strong>` },
      { title: "System", cell: (row) => system(row) },
      { title: "State", cell: (row) => html`<span title=${text(condition(row)?.message)}><${State} of=${readiness(row)} /></span>` },
      { title: "Region", narrow: true, cell: (row) => text(row.status?.region) },
      { title: "Provider", narrow: true, cell: (row) => text(row.status?.provider) },
      { title: "Used", cell: (row) => html`<${Capacity} of=${row.status?.capacity} />` },
      { title: "Taints", narrow: true, cell: (row) => (row.status?.taints ?? []).map((one) => html`<span class="chip">${text(one.key ?? one)}${one.effect ? `:${text(one.effect)}` : ""}</span>`) },
    ];
    return html`<section>
      <header><h1>Fleet</h1><${Count} shown=${rows.length} all=${all.length} what="targets" whole=${this.state.whole} /></header>
      <form class="filters" onSubmit=${(event) => event.preventDefault()}>
        <${Search} value=${query.search} set=${(search) => set({ search })} />
        <${Choice} label="System" value=${query.system} values=${distinct(all.map(system))} set=${(value) => set({ system: value })} />
        <${Choice} label="Region" value=${query.region} values=${distinct(all.map((item) => item.status?.region))} set=${(region) => set({ region })} />
        <${Choice} label="State" value=${query.ready} values=${distinct(all.map(readiness))} set=${(ready) => set({ ready })} />
      </form>
      <${Problem} of=${this.problem()} />
      <${Table} label="Targets" columns=${columns} rows=${rows} id=${(row) => row.metadata.name}
        empty=${this.state.whole ? "No target matches." : "Reading targets …"} />
      <${Kubectl} command="kubectl get targets -o wide" />
    </section>`;
  }
}

export class Decisions extends Live {
  paths() {
    return ["decisions", "clusterdecisions"];
  }
  render({ query, set, go }) {
    const all = this.all();
    const matches = search(query.search);
    const rows = all
      .filter((item) => (!query.phase || item.status?.phase === query.phase)
        && (!query.system || system(item) === query.system)
        && (!query.namespace || item.metadata.namespace === query.namespace)
        && (!query.reason || item.status?.reason === query.reason)
        && matches(item))
      .sort(byName);
    const columns = [
      { title: "Namespace", narrow: true, cell: (row) => text(row.metadata.namespace) },
      { title: "Decision", cell: (row) => html`<a href=${`#/decision?${new URLSearchParams({ namespace: row.metadata.namespace ?? "", name: row.metadata.name })}`}>${row.metadata.name}</a>` },
      { title: "Phase", cell: (row) => html`<${State} of=${row.status?.phase} />` },
      { title: "Where", cell: (row) => (row.status?.decisions ?? []).slice(0, 4).map((one) => html`<span class="chip">${text(one.clusterName)}</span>`).concat((row.status?.decisions ?? []).length > 4 ? html`<span class="more">and ${row.status.decisions.length - 4} more</span>` : []) },
      { title: "Why", narrow: true, cell: (row) => html`<span class="why" title=${text(row.status?.message)}>${text(row.status?.message ?? row.status?.reason)}</span>` },
    ];
    const open = (row) => go("decision", { namespace: row.metadata.namespace ?? "", name: row.metadata.name });
    return html`<section>
      <header><h1>Decisions</h1><${Count} shown=${rows.length} all=${all.length} what="decisions" whole=${this.state.whole} /></header>
      <form class="filters" onSubmit=${(event) => event.preventDefault()}>
        <${Search} value=${query.search} set=${(search) => set({ search })} />
        <${Choice} label="Phase" value=${query.phase} values=${distinct(all.map((item) => item.status?.phase))} set=${(phase) => set({ phase })} />
        <${Choice} label="System" value=${query.system} values=${distinct(all.map(system))} set=${(value) => set({ system: value })} />
        <${Choice} label="Namespace" value=${query.namespace} values=${distinct(all.map((item) => item.metadata.namespace))} set=${(namespace) => set({ namespace })} />
        <${Choice} label="Reason" value=${query.reason} values=${distinct(all.map((item) => item.status?.reason))} set=${(reason) => set({ reason })} />
      </form>
      <${Problem} of=${this.problem()} />
      <${Table} label="Decisions" columns=${columns} rows=${rows} open=${open} id=${(row) => `${row.metadata.namespace ?? ""}/${row.metadata.name}`}
        empty=${this.state.whole ? "No decision matches." : "Reading decisions …"} />
      <${Kubectl} command=${`kubectl get decisions ${query.namespace ? `-n ${query.namespace}` : "-A"} -o wide`} />
    </section>`;
  }
}
