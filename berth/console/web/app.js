// The page: which view is shown is in the address, so that it can be sent to a colleague with a console of their own.

import { render } from "./vendor/preact.module.js";
import { about, resources, takeToken } from "./api.js";
import { Live, begin, showNamespace, shownNamespace } from "./store.js";
import { html, Problem, tableKey } from "./parts.js";
import { address, bare, text } from "./words.js";
import { Overview } from "./overview.js";
import { Requests, Fleet } from "./lists.js";
import { Request } from "./request.js";
import { Cluster } from "./cluster.js";
import { Try } from "./try.js";
import { Activity } from "./activity.js";
import { Agreement, agrees } from "./agreement.js";
import { Find, Keys } from "./find.js";

const VIEWS = { overview: Overview, requests: Requests, request: Request, fleet: Fleet, cluster: Cluster, try: Try, activity: Activity, agreement: Agreement };
/** The names of views in addresses of earlier versions. */
const EARLIER = { decisions: "requests", decision: "request", timeline: "request", whatif: "try" };
const TITLES = { overview: "Overview", requests: "Requests", fleet: "Fleet", try: "Try a change", activity: "Activity", agreement: "Agreement" };
/** The part of the navigation that a page belongs to. */
const WITHIN = { request: "requests", cluster: "fleet" };
const JUMPS = { o: "overview", r: "requests", f: "fleet", t: "try", a: "activity", g: "agreement" };

const read = () => {
  const [name, query] = location.hash.slice(2).split("?");
  const view = EARLIER[name] ?? name;
  return { view: Object.hasOwn(VIEWS, view) ? view : "overview", query: Object.fromEntries(new URLSearchParams(query ?? "")) };
};

class App extends Live {
  constructor(props) {
    super(props);
    this.state = { ...read(), about: null, has: new Set(), problem: null, over: "" };
  }
  /** Agreement is offered where there is any. */
  paths() {
    return ["decisions", "clusterdecisions"];
  }
  componentDidMount() {
    addEventListener("hashchange", () => {
      this.setState({ ...read(), over: "" });
      scrollTo(0, 0);
    });
    addEventListener("keydown", (event) => this.key(event));
    about().then((known) => {
      begin(known);
      this.setState({ about: known });
      super.componentDidMount();
    }, (problem) => this.setState({ problem }));
    // What this server does not have is left out.
    resources().then((has) => this.setState({ has }), () => {});
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key === "k" && !event.altKey) {
        event.preventDefault();
        this.setState({ over: "find" });
      }
      return;
    }
    if (event.key === "Escape") return this.setState({ over: "" });
    if (event.target.closest?.("input, textarea, select") || this.state.over) return;
    if (this.jumps && JUMPS[event.key]) location.hash = address(JUMPS[event.key]);
    this.jumps = event.key === "g";
    const opens = event.key === "Enter" && !event.target.closest?.("a, button, summary");
    if (event.key === "/") this.setState({ over: "find" });
    else if (event.key === "?") this.setState({ over: "keys" });
    else if (["j", "k"].includes(event.key) || opens) tableKey(event.key);
    else return;
    event.preventDefault();
  }
  render(_, { view, query, about: known, has, problem, over }) {
    const go = (next, more) => { location.hash = address(next, more); };
    const set = (more) => {
      const next = { ...query, ...more };
      history.replaceState(null, "", address(view, next));
      this.setState({ query: next });
    };
    const titled = view === "request" || view === "cluster" ? bare(query.name ?? "") || text(query.name) : TITLES[view];
    document.title = `${titled} · Berth${known?.context ? ` · ${known.context}` : ""}`;
    const observes = known && this.decisions().some(agrees);
    const links = Object.entries(TITLES).filter(([name]) => name !== "agreement" || observes || view === "agreement");
    const View = VIEWS[view];
    const scope = shownNamespace();
    const close = () => this.setState({ over: "" });
    return html`<div>
      <nav aria-label="Views"><a class="brand" href="#/overview">Berth</a>
        ${links.map(([name, title]) => html`<a href=${address(name)} aria-current=${(WITHIN[view] ?? view) === name ? "page" : null}>${title}</a>`)}
        <button class="find" onClick=${() => this.setState({ over: "find" })}>Find … <kbd>/</kbd></button>
        ${known && html`<label class="scope">Namespace <input size="12" placeholder="all" value=${scope.namespace} onChange=${(event) => { showNamespace(event.target.value.trim()); this.setState({}); }} /></label>`}
        <span class="context">${text(known?.context ?? known?.server)}${observes ? " · observing" : ""}${known && !known.writes ? " · read only" : ""}</span></nav>
      <main><${Problem} of=${problem} />
        ${scope.only && html`<p class="problem calm" role="status">You may not list the requests of all namespaces${this.denied().includes("decisions") ? html`, nor those of <b>${scope.namespace}</b>: choose a namespace of yours above` : html`; those of <b>${scope.namespace}</b> are shown, and another one can be chosen above`}. To see all, ask for a ClusterRoleBinding to <code>berth:decision-viewer</code>.</p>`}
        ${known && html`<${View} key=${["request", "cluster", "try"].includes(view) ? `${view}/${query.namespace}/${query.name}` : view} query=${query} set=${set} go=${go} about=${known} has=${has} />`}</main>
      ${over === "find" && html`<${Find} close=${close} />`}
      ${over === "keys" && html`<${Keys} close=${close} />`}
    </div>`;
  }
}

await takeToken();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
