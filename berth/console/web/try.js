// Try a change: edit a request or clusters, drain or add some, and see before and after. Nothing is stored.

import { Live } from "./store.js";
import { get, post, review, source, decisionPath } from "./api.js";
import { Funnel, Everyone } from "./explain.js";
import { Form } from "./form.js";
import { Grid, PlanEntries } from "./plan.js";
import { html, Card, Copy, Problem, State } from "./parts.js";
import { bare, compare, many, text } from "./words.js";
import { yaml } from "./yaml.js";

/** How long a pause in typing is, in ms. */
const PAUSE = 350;

/** What a server writes and nobody edits. */
const edited = (object) => {
  const { managedFields, resourceVersion, uid, creationTimestamp, generation, ...metadata } = object.metadata ?? {};
  const { status, ...rest } = object;
  return { ...rest, metadata };
};

/** A JSON patch (RFC 6902) applied to a copy. */
export const patched = (object, operations) => {
  const copy = structuredClone(object);
  for (const { op, path, value } of operations) {
    const keys = path.split("/").slice(1).map((key) => key.replace(/~1/g, "/").replace(/~0/g, "~"));
    const last = keys.pop();
    const parent = keys.reduce((at, key) => at?.[key], copy);
    if (!parent || op === "test") continue;
    if (Array.isArray(parent)) {
      const index = last === "-" ? parent.length : Number(last);
      parent.splice(index, op === "add" ? 0 : 1, ...(op === "remove" ? [] : [value]));
    } else if (op === "remove") delete parent[last];
    else parent[last] = value;
  }
  return copy;
};

/** The JSON merge patch (RFC 7386) from one object to another. */
export const difference = (was, now) => {
  const patch = {};
  for (const key of new Set([...Object.keys(was ?? {}), ...Object.keys(now ?? {})])) {
    const [a, b] = [was?.[key], now?.[key]];
    if (JSON.stringify(a) === JSON.stringify(b)) continue;
    if (b === undefined) patch[key] = null;
    else if (a && b && typeof a === "object" && typeof b === "object" && !Array.isArray(a) && !Array.isArray(b)) patch[key] = difference(a, b);
    else patch[key] = b;
  }
  return patch;
};

const differs = (one) => JSON.stringify(one.was) !== JSON.stringify(one.now);
const named = (object) => `${text(object.kind)} ${[object.metadata?.namespace, object.metadata?.name].filter(Boolean).join("/")}`;

/** kubectl's line for a change of one object. */
const command = ({ was, now }) => {
  const group = now.apiVersion.includes("/") ? `.${now.apiVersion.split("/")[0]}` : "";
  const where = now.metadata.namespace ? ` -n ${now.metadata.namespace}` : "";
  const patch = JSON.stringify(difference(was, now)).replaceAll("'", "'\\''");
  return `kubectl patch ${now.kind.toLowerCase()}${group} ${now.metadata.name}${where} --type=merge -p '${patch}'`;
};

/** One object to edit: as a form, as JSON, as YAML to copy. */
const Editor = ({ one, set, drop, tab, choose }) => {
  const { now, was } = one;
  const tabs = [["form", "Form"], ["json", "JSON"], ["yaml", "YAML"]];
  const write = (event) => {
    try {
      set({ ...one, now: JSON.parse(event.target.value), wrong: "" });
    } catch (problem) {
      set({ ...one, wrong: problem.message });
    }
  };
  return html`<${Card} title=${named(now)} note=${one.added ? "added" : differs(one) ? "changed" : ""}>
    <p class="tabs" role="group" aria-label="How to edit it">${tabs.map(([name, title]) => html`<button class="small" aria-pressed=${tab === name ? "true" : "false"} onClick=${() => choose(name)}>${title}</button>`)}
      ${drop && html`<button class="small" onClick=${drop}>take back</button>`}</p>
    ${tab === "form" && html`${one.added && html`<label class="field">name<input value=${now.metadata.name} onInput=${(event) => set({ ...one, now: { ...now, metadata: { ...now.metadata, name: event.target.value } } })} /></label>`}
      ${one.isCluster && html`<${Form} object=${now} was=${was ?? now} root=${["metadata"]} set=${(object) => set({ ...one, now: object })} />`}
      <${Form} object=${now} was=${was ?? now} root=${["spec"]} set=${(object) => set({ ...one, now: object })} />`}
    ${tab === "json" && html`<label class="field">The whole object<textarea rows="18" spellcheck="false" onInput=${write}>${JSON.stringify(now, null, 2)}</textarea></label>`}
    ${tab === "yaml" && html`<pre tabindex="0">${yaml(now)}</pre>`}
    ${one.wrong && html`<p class="problem" role="alert">${one.wrong}</p>`}
    <p class="actions">${was && differs(one) && html`<${Copy} value=${command(one)} label="copy as kubectl patch" />`}<${Copy} value=${yaml(now)} label="copy as YAML" /></p>
  </${Card}>`;
};

const outcome = (status) => (["Scheduled", "Unchanged", "Provision"].includes(status.outcome) ? "good" : status.outcome === "Partial" ? "warn" : "bad");

const Side = ({ title, status }) => html`<div><h3>${title} <${State} tone=${outcome(status)}>${(status.picked ?? []).length ? `on ${many(status.picked.length, "cluster")}` : "no place"}</${State}></h3>
  <p>${text(status.message)}</p><${Funnel} status=${status} /></div>`;

export class Try extends Live {
  constructor(props) {
    super(props);
    this.state = { request: null, clusters: [], drains: props.query.drain ? [props.query.drain] : [], tab: "form" };
    this.turn = 0;
  }
  paths() {
    return ["targets", "decisions", "clusterdecisions"];
  }
  componentDidMount() {
    super.componentDidMount();
    this.start();
  }
  async start() {
    const { namespace, name, patch } = this.props.query;
    if (!name) return this.soon();
    try {
      const report = await get(`${decisionPath(namespace, name)}/scheduling`);
      const stored = edited(await source(report.spec.sourceRef));
      const now = patch ? patched(stored, JSON.parse(patch)) : stored;
      this.setState({ before: report.status, request: { was: stored, now }, problem: null });
      this.soon();
    } catch (problem) {
      this.setState({ problem });
    }
  }
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }
  componentWillUnmount() {
    clearTimeout(this.timer);
    super.componentWillUnmount();
  }
  put(more) {
    this.setState(more);
    this.soon();
  }
  /** The question of now. An answer to an earlier one comes too late. */
  async ask() {
    const { request, clusters, drains } = this.state;
    const { namespace, name } = this.props.query;
    const turn = ++this.turn;
    const objects = clusters.filter((one) => one.added || differs(one)).map((one) => one.now);
    const changes = [...(request && differs(request) ? [{ object: request.now }] : []), ...objects.map((object) => ({ object })), ...drains.map((drain) => ({ drain }))];
    if (changes.length === 0) return this.setState({ after: null, plan: null, refused: null, asking: false });
    this.setState({ asking: true });
    const got = { after: null, plan: null, refused: null, partly: null };
    if (request) {
      const question = { object: request.now, inventory: "Overlay", objects };
      try {
        got.after = await review(question);
      } catch (problem) {
        got.refused = problem;
        if (problem.code === 403 && namespace) {
          try {
            const body = { apiVersion: "scheduling.berth.dev/v1alpha1", kind: "LocalSchedulingReview", metadata: { namespace }, spec: question };
            got.after = (await post(`namespaces/${namespace}/localschedulingreviews`, body)).status;
            got.refused = null;
          } catch {
            // The first refusal says which right is wanted.
          }
        }
      }
    }
    if (!got.refused) {
      try {
        const decisions = name ? [{ ...(namespace && { namespace }), name }] : [];
        got.plan = (await review({ changes, ...(decisions.length && { decisions }) })).plan;
      } catch (problem) {
        if (problem.code === 403 && got.after) got.partly = problem;
        else got.refused = problem;
      }
    }
    if (turn === this.turn) this.setState({ ...got, asking: false });
  }
  async edit(name, added) {
    const target = this.targets().find((one) => one.metadata.name === name);
    if (!target) return;
    try {
      const stored = await source(target.spec.sourceRef);
      const { managedFields, resourceVersion, uid, creationTimestamp, generation, ...metadata } = stored.metadata;
      // A cluster keeps its status: it says whether the cluster is ready, and what there is in it.
      const whole = { ...stored, metadata };
      const now = added ? { ...whole, metadata: { ...metadata, name: `${metadata.name}-new` } } : whole;
      this.put((state) => ({ clusters: [...state.clusters, { isCluster: true, added, was: added ? null : whole, now }], problem: null }));
    } catch (problem) {
      this.setState({ problem });
    }
  }
  file() {
    const { request, clusters, drains } = this.state;
    const objects = [...(request && differs(request) ? [request] : []), ...clusters.filter((one) => one.added || differs(one))].map((one) => one.now);
    const drained = drains.length ? [{ apiVersion: "scheduling.berth.dev/v1alpha1", kind: "SchedulingReview", spec: { changes: drains.map((drain) => ({ drain })) } }] : [];
    return [...objects, ...drained].map(yaml).join("---\n");
  }
  save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.file()], { type: "application/yaml" }));
    link.download = "change.yaml";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  render({ query, set, go }, { request, before, after, plan, clusters, drains, problem, refused, partly, asking, tab }) {
    const targets = this.targets().map((one) => one.metadata.name).sort(compare);
    const requests = this.decisions().map((one) => `${one.metadata.namespace ?? ""}/${one.metadata.name}`).sort(compare);
    const pick = (label, list, chosen) => html`<label class="field">${label}<input list=${list} placeholder="type a name" onChange=${(event) => { if (event.target.value) chosen(event.target.value); event.target.value = ""; }} /></label>`;
    const file = this.file();
    return html`<section>
      <header><h1>Try a change</h1><span class="count">nothing is saved${asking ? " · deciding …" : ""}</span></header>
      <${Problem} of=${problem} />
      <datalist id="all-targets">${targets.slice(0, 5000).map((one) => html`<option value=${one}></option>`)}</datalist>
      <datalist id="all-requests">${requests.slice(0, 5000).map((one) => html`<option value=${one}></option>`)}</datalist>
      <div class="sides try">
        <div class="column">
          ${request ? html`<${Editor} one=${request} tab=${tab} choose=${(next) => this.setState({ tab: next })} set=${(next) => this.put({ request: next })} />` : !query.name && html`<${Card} title="Which request?" note="or none: change clusters alone">${pick("A request", "all-requests", (value) => { const cut = value.indexOf("/"); go("try", { namespace: value.slice(0, cut), name: value.slice(cut + 1) }); })}</${Card}>`}
          ${clusters.map((one, index) => html`<${Editor} key=${index} one=${one} tab=${one.tab ?? "form"} choose=${(next) => this.setState({ clusters: clusters.map((other, at) => (at === index ? { ...other, tab: next } : other)) })}
            set=${(next) => this.put({ clusters: clusters.map((other, at) => (at === index ? next : other)) })} drop=${() => this.put({ clusters: clusters.filter((_, at) => at !== index) })} />`)}
          <${Card} title="Also change the fleet">
            ${drains.map((one) => html`<span class="chip new">drain ${bare(one)} <button aria-label=${`do not drain ${one}`} onClick=${() => this.put({ drains: drains.filter((other) => other !== one) })}>×</button></span>`)}
            ${pick("Drain a cluster", "all-targets", (value) => targets.includes(value) && !drains.includes(value) && this.put({ drains: [...drains, value] }))}
            ${pick("Edit a cluster", "all-targets", (value) => this.edit(value, false))}
            ${pick("Add a cluster like", "all-targets", (value) => this.edit(value, true))}
          </${Card}>
        </div>
        <div class="column">
          <${Problem} of=${refused} />
          ${before && html`<${Card} title="Before and after"><div class="pair"><${Side} title="Before" status=${before} />${after ? html`<${Side} title="After" status=${after} />` : html`<p class="empty">Change something in the form.</p>`}</div></${Card}>`}
          ${plan && html`<${Card} title="What would move" note="every decision that it makes due, decided again"><${PlanEntries} plan=${plan} /><${Grid} plan=${plan} /></${Card}>`}
          ${partly && html`<p class="problem calm" role="status">What else would move is not shown to you: ${text(partly.message)}</p>`}
          ${!before && !plan && !refused && html`<p class="empty">Choose a request, or a cluster to drain, edit or add.</p>`}
          ${file && (plan || after) && html`<${Card} title="Take it with you"><p class="actions"><${Copy} value=${file} label="copy as YAML" /><button class="small" onClick=${() => this.save()}>save as change.yaml</button></p><p><code>berth plan -f change.yaml</code></p></${Card}>`}
        </div>
      </div>
      ${after && html`<${Card} title="Every cluster after it"><${Everyone} candidates=${after.candidates ?? []} before=${before?.candidates} query=${query} set=${set} /></${Card}>`}
    </section>`;
  }
}
