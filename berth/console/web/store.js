// The lists that views share. Each is read once and followed from then on, whatever view is shown.

import { Component } from "./vendor/preact.module.js";
import { follow } from "./api.js";
import { bare, clusterAddress, systemOf } from "./words.js";

/** Lists of namespaced objects: who may not read all of them may read those of one namespace. */
const NAMESPACED = ["decisions", "decisionrecords"];
const lists = new Map();
const CHOSEN = "berth-console-namespace";
/** The namespace that is shown, and whether that is so because the rest may not be read. */
const scope = { namespace: sessionStorage.getItem(CHOSEN) ?? "", only: false, fallback: "" };

/** What the console was started with: the namespace of its context is where somebody with few rights has some. */
export function begin(about) {
  scope.fallback = about.namespace || "default";
}

export const shownNamespace = () => scope;

/** Shows another namespace; with none, all. */
export function showNamespace(namespace) {
  scope.namespace = namespace;
  scope.only = false;
  sessionStorage.setItem(CHOSEN, namespace);
  for (const path of NAMESPACED) {
    const list = lists.get(path);
    if (list) start(path, list);
  }
}

function start(path, list) {
  list.end?.abort();
  const end = new AbortController();
  Object.assign(list, { end, items: [], problem: null, whole: false });
  const within = NAMESPACED.includes(path) && scope.namespace ? `namespaces/${scope.namespace}/` : "";
  follow(within + path, end.signal, (items, problem, whole) => {
    if (problem?.code === 403 && NAMESPACED.includes(path) && !within && scope.fallback) {
      scope.namespace = scope.fallback;
      scope.only = true;
      for (const other of NAMESPACED) if (lists.has(other)) start(other, lists.get(other));
      return;
    }
    Object.assign(list, { items: [...items.values()], problem, whole });
    for (const shown of list.readers) shown();
  });
  for (const shown of list.readers) shown();
}

function reach(path, shown) {
  let list = lists.get(path);
  const fresh = !list;
  if (!list) {
    list = { readers: new Set() };
    lists.set(path, list);
  }
  list.readers.add(shown);
  if (fresh) start(path, list);
  return list;
}

/** The names of targets by the names that their systems give their clusters, of the newest list. */
let named = { items: null, names: new Map() };

/** The cluster that a system calls so: its address, and the name that says something to people. */
export function clusterOf(system, clusterName) {
  const items = lists.get("targets")?.items ?? [];
  if (named.items !== items) {
    named = { items, names: new Map(items.map((one) => [`${systemOf(one)}/${one.spec?.clusterName}`, one.metadata.name])) };
  }
  const dotted = clusterName.replace("/", ".");
  const target = named.names.get(`${system}/${clusterName}`) ?? `${dotted}.${system}`;
  return { href: clusterAddress(target), label: bare(target) === dotted ? clusterName : bare(target) };
}

/** A view of lists: draws itself anew when one of them changes. */
export class Live extends Component {
  constructor(props) {
    super(props);
    this.again = () => this.setState({ drawn: {} });
  }
  /** The lists of this view. */
  paths() {
    return [];
  }
  componentDidMount() {
    for (const path of this.paths()) reach(path, this.again);
    this.again();
  }
  componentWillUnmount() {
    for (const path of this.paths()) lists.get(path)?.readers.delete(this.again);
  }
  items(path) {
    return lists.get(path)?.items ?? [];
  }
  targets() {
    return this.items("targets");
  }
  decisions() {
    return [...this.items("decisions"), ...this.items("clusterdecisions")];
  }
  records() {
    return [...this.items("decisionrecords"), ...this.items("clusterdecisionrecords")];
  }
  whole() {
    return this.paths().every((path) => lists.get(path)?.whole);
  }
  /** Every list that may not be read, or that the server does not have, is left out; what else is wrong is said. */
  problem() {
    const problems = this.paths().map((path) => lists.get(path)?.problem).filter(Boolean);
    const all = problems.length === this.paths().length;
    return problems.find((one) => all || (one.code !== 403 && one.code !== 404));
  }
  /** What may not be read of the lists of this view. */
  denied() {
    return this.paths().filter((path) => lists.get(path)?.problem?.code === 403);
  }
}
