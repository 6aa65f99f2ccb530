// The page: which view is shown is in the address, so that it can be sent to a colleague with a console of their own.

import { render, Component } from "./vendor/preact.module.js";
import { about, resources, takeToken } from "./api.js";
import { html, text, Problem } from "./parts.js";
import { Fleet, Decisions } from "./views.js";
import { Decision, WhatIf } from "./decision.js";
import { Timeline } from "./timeline.js";

const VIEWS = { decisions: Decisions, fleet: Fleet, decision: Decision, whatif: WhatIf, timeline: Timeline };

const read = () => {
  const [view, query] = location.hash.slice(2).split("?");
  return { view: Object.hasOwn(VIEWS, view) ? view : "decisions", query: Object.fromEntries(new URLSearchParams(query ?? "")) };
};

const address = (view, query) => {
  const kept = Object.entries(query).filter(([, value]) => value);
  return `#/${view}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
};

class App extends Component {
  constructor() {
    super();
    this.state = { ...read(), about: null, has: new Set(), problem: null };
  }
  componentDidMount() {
    addEventListener("hashchange", () => this.setState(read()));
    about().then((found) => this.setState({ about: found }), (problem) => this.setState({ problem }));
    // What this server does not have is left out.
    resources().then((found) => this.setState({ has: found }), () => {});
  }
  render(_, { view, query, about: known, has, problem }) {
    const go = (next, more) => { location.hash = address(next, more); };
    const set = (more) => {
      const next = { ...query, ...more };
      history.replaceState(null, "", address(view, next));
      this.setState({ query: next });
    };
    const link = (name, title) => html`<a href=${`#/${name}`} aria-current=${view === name ? "page" : null}>${title}</a>`;
    const View = VIEWS[view];
    return html`<div>
      <nav aria-label="Views"><span class="brand">Berth</span>
        ${link("decisions", "Decisions")}${link("fleet", "Fleet")}${link("whatif", "What if")}
        <span class="context" title=${text(known?.server)}>${text(known?.context)}${known && !known.writes ? " · read only" : ""}</span></nav>
      <main><${Problem} of=${problem} />
        ${known && html`<${View} key=${["decision", "whatif", "timeline"].includes(view) ? `${view}/${query.namespace}/${query.name}` : view} query=${query} set=${set} go=${go} about=${known} has=${has} />`}</main>
    </div>`;
  }
}

takeToken();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
