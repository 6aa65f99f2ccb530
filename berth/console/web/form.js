// A form made from an object: numbers, texts, flags, labels as chips, tolerations. It knows no system; what it finds it shows.

import { Component } from "./vendor/preact.module.js";
import { html } from "./parts.js";
import { compare, text } from "./words.js";

/** The value at a path. */
export const at = (object, path) => path.reduce((value, key) => value?.[key], object);

/** A copy of `object` with another value at a path; `undefined` takes it away. */
export const changed = (object, [key, ...rest], value) => {
  const copy = Array.isArray(object) ? [...object] : { ...object };
  const next = rest.length ? changed(copy[key] ?? (typeof rest[0] === "number" ? [] : {}), rest, value) : value;
  if (next === undefined) {
    if (Array.isArray(copy)) copy.splice(key, 1);
    else delete copy[key];
  } else copy[key] = next;
  return copy;
};

const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isLabels = (key, value) => /labels$|nodeSelector/i.test(key) && isMap(value) && Object.values(value).every((one) => typeof one === "string");
const isTolerations = (key, value) => key === "tolerations" && Array.isArray(value);

/** The fields that are shown: {path, kind, value}. */
export const fields = (value, path = [], found = []) => {
  for (const [name, item] of Object.entries(value ?? {})) {
    const key = Array.isArray(value) ? Number(name) : name;
    const here = [...path, key];
    if (isLabels(name, item)) found.push({ path: here, kind: "labels", value: item });
    else if (isTolerations(name, item)) found.push({ path: here, kind: "tolerations", value: item });
    else if (typeof item === "number") found.push({ path: here, kind: "number", value: item });
    else if (typeof item === "boolean") found.push({ path: here, kind: "flag", value: item });
    else if (typeof item === "string" && item.length <= 80 && !item.includes("\n")) found.push({ path: here, kind: "text", value: item });
    else if (item !== null && typeof item === "object") fields(item, here, found);
  }
  return found;
};

/** A path as it is written: `spec.predicates[0].matchLabels`. */
export const written = (path) => path.map((key, index) => (typeof key === "number" ? `[${key}]` : index ? `.${key}` : key)).join("");

/** Chips with a field to add one: `key=value`, or a toleration as `key`, `key=value`, either with `:Effect`. */
class Chips extends Component {
  render({ label, entries, add, drop, hint, before }, { draft = "" }) {
    const take = (event) => {
      event.preventDefault();
      if (draft.trim() && add(draft.trim())) this.setState({ draft: "" });
    };
    return html`<fieldset><legend>${label}</legend>
      ${entries.map((one, index) => html`<span class=${`chip${before.includes(one) ? "" : " new"}`}>${one} <button type="button" aria-label=${`remove ${one}`} onClick=${() => drop(index)}>×</button></span>`)}
      ${before.filter((one) => !entries.includes(one)).map((one) => html`<span class="chip gone">${one}</span>`)}
      <span class="add"><input size="14" aria-label=${`add to ${label}`} placeholder=${hint} value=${draft} onInput=${(event) => this.setState({ draft: event.target.value })} onKeyDown=${(event) => event.key === "Enter" && take(event)} /><button type="button" onClick=${take}>add</button></span></fieldset>`;
  }
}

const toleration = (one) => `${text(one.key) || "every taint"}${one.value ? `=${text(one.value)}` : ""}${one.effect ? `:${text(one.effect)}` : ""}`;
const parsed = (draft) => {
  const [rest, effect] = draft.split(":");
  const [key, value] = rest.split("=");
  return { key, ...(value ? { operator: "Equal", value } : { operator: "Exists" }), ...(effect && { effect }) };
};

/** Fields of `object` below `root`; `was` is the object before. */
export const Form = ({ object, was, root, set }) => {
  const list = fields(at(object, root), root);
  // Tolerations may be added where a request has none yet.
  const more = root[0] === "spec" && !list.some((one) => one.kind === "tolerations") && "tolerations" in (object.spec ?? {}) === false
    ? [{ path: [...root, "tolerations"], kind: "tolerations", value: [] }] : [];
  const order = { number: 0, labels: 1, tolerations: 2, flag: 3, text: 4 };
  return html`<div class="form">${[...list, ...more].sort((a, b) => order[a.kind] - order[b.kind] || compare(written(a.path), written(b.path))).map(({ path, kind, value }) => {
    const label = written(path.slice(1)) || written(path);
    const before = at(was, path);
    const put = (next) => set(changed(object, path, next));
    const differs = JSON.stringify(before) !== JSON.stringify(value) ? " differs" : "";
    if (kind === "number") return html`<label class=${`field${differs}`}>${label}<input type="number" value=${value} onInput=${(event) => event.target.value !== "" && put(Number(event.target.value))} />${differs && html`<small>was ${text(before)}</small>`}</label>`;
    if (kind === "flag") return html`<label class=${`field${differs}`}><input type="checkbox" checked=${value} onChange=${(event) => put(event.target.checked)} /> ${label}</label>`;
    if (kind === "text") return html`<label class=${`field${differs}`}>${label}<input value=${value} onInput=${(event) => put(event.target.value)} />${differs && html`<small>was ${text(before)}</small>`}</label>`;
    if (kind === "labels") {
      const pairs = (labels) => Object.entries(labels ?? {}).map(([key, one]) => `${key}=${one}`);
      return html`<${Chips} key=${label} label=${label} hint="key=value" entries=${pairs(value)} before=${pairs(before)}
        add=${(draft) => { const cut = draft.indexOf("="); if (cut < 1) return false; put({ ...value, [draft.slice(0, cut)]: draft.slice(cut + 1) }); return true; }}
        drop=${(index) => { const copy = { ...value }; delete copy[Object.keys(value)[index]]; put(copy); }} />`;
    }
    return html`<${Chips} key=${label} label=${label} hint="key=value:Effect" entries=${value.map(toleration)} before=${(before ?? []).map(toleration)}
      add=${(draft) => { put([...value, parsed(draft)]); return true; }} drop=${(index) => put(value.filter((_, other) => other !== index))} />`;
  })}</div>`;
};
