// The pictures of one decision: the funnel, the scores with the cut, a cell for every cluster, the nearest misses.

import { html, Cells, Legend, State, Table } from "./parts.js";
import { clusterAddress, many, plain, reasonsOf, text, verdictOf } from "./words.js";

/** How many clusters each filter leaves. Steps that refuse nobody are one line. */
export const Funnel = ({ status, pick }) => {
  const steps = status.funnel ?? [];
  if (steps.length === 0) return html`<p class="empty">No cluster was judged.</p>`;
  const all = steps[0].before;
  const busy = steps.filter((step) => step.before > step.after);
  const idle = steps.length - busy.length;
  const picked = (status.picked ?? []).length;
  const row = (label, before, after, message, tone, filter) => html`<li>
    <span class="step">${filter && pick ? html`<button class="link" onClick=${() => pick(filter)}>${label}</button>` : label}</span>
    <span class="funnelbar" aria-hidden="true"><span class=${tone} style=${{ width: `${all ? (100 * after) / all : 0}%` }}></span><span class="gone" style=${{ width: `${all ? (100 * (before - after)) / all : 0}%` }}></span></span>
    <span class="left"><b>${after.toLocaleString("en")}</b>${before > after ? html` <small>−${(before - after).toLocaleString("en")}</small>` : ""}</span>
    ${message && html`<small class="said">${message}</small>`}</li>`;
  const left = steps[steps.length - 1].after;
  return html`<ol class="funnel">
    ${row("all clusters", all, all, "", "heat2")}
    ${busy.map((step) => row(plain(step.plugin), step.before, step.after, text(step.message), step.after ? "heat2" : "red", step.plugin))}
    ${row("picked", Math.max(left, picked), picked, picked > left ? "some stay though a filter would refuse them now" : "", "good")}
  </ol>${idle > 0 && html`<p class="hint">${many(idle, "filter")} refused no cluster: ${steps.filter((step) => step.before === step.after).map((step) => plain(step.plugin)).join(", ")}</p>`}`;
};

const SHOWN = 24;
const SERIES = ["series0", "series1", "series2", "series3", "series4"];

/** The best clusters, their scores as stacked bars, and the cut between those picked and the rest. */
export const Scores = ({ status, system }) => {
  const ranked = (status.candidates ?? []).filter((one) => one.rank !== undefined).sort((a, b) => a.rank - b.rank);
  const plugins = [...new Set(ranked.flatMap((one) => (one.scores ?? []).map((score) => score.plugin)))];
  if (ranked.length === 0) return html`<p class="empty">No cluster was scored, for none fits.</p>`;
  const picked = ranked.filter((one) => one.picked);
  // Picked ones are all there is to see up to a screen of them, then the next.
  const rows = [...picked.slice(0, SHOWN - 8), ...ranked.filter((one) => !one.picked).slice(0, Math.max(8, SHOWN - picked.length))];
  const weight = (one) => Math.max(0, one.weighted ?? one.value ?? 0);
  const adds = rows.some((one) => one.score !== undefined);
  const most = Math.max(1, ...rows.map((one) => (one.scores ?? []).reduce((sum, score) => sum + weight(score), 0)));
  const says = rows.some((one) => (one.scores ?? []).some((score) => weight(score) > 0));
  const weights = new Map(ranked.flatMap((one) => (one.scores ?? []).map((score) => [score.plugin, score.weight])));
  const cut = rows.findIndex((one) => !one.picked);
  return html`<div class="scores">
    ${says && html`<${Legend} of=${plugins.map((plugin, index) => [SERIES[index % SERIES.length], `${plain(plugin)}${weights.get(plugin) !== 1 && weights.get(plugin) !== undefined ? ` ×${weights.get(plugin)}` : ""}`])} />`}
    <ol>${rows.map((one, index) => html`<li class=${`${one.picked ? "in" : "out"}${index === cut && cut > 0 ? " cut" : ""}`}>
      <a href=${clusterAddress(text(one.target) || `${one.clusterName}.${system}`)}>${one.picked ? "✓ " : ""}${one.clusterName}</a>
      <span class="parts" aria-hidden="true">${says && (one.scores ?? []).map((score) => html`<span class=${SERIES[plugins.indexOf(score.plugin) % SERIES.length]} style=${{ width: `${(100 * weight(score)) / most}%` }}></span>`)}</span>
      <span class="total">${adds ? text(one.score) : (one.scores ?? []).map((score) => text(score.value ?? "–")).join(" / ")}</span>
    </li>`)}</ol>
    <p class="hint">${cut > 0 ? `the line is the cut: ${picked.length} picked of ${many(ranked.length, "cluster")} that fit` : `${many(ranked.length, "cluster")} fit`}${adds || !says ? "" : "; scores are compared one after the other and not added up"}</p>
  </div>`;
};

const TONE = { good: "green", calm: "heat2", bad: "heat1", off: "off" };

/** A cell for every cluster. */
export const Strip = ({ candidates }) => {
  const rank = { green: 0, heat2: 1, heat1: 2, off: 3 };
  const cells = candidates.map((one) => ({ tone: TONE[verdictOf(one)[1]], name: text(one.target) })).sort((a, b) => rank[a.tone] - rank[b.tone]);
  const counts = new Map();
  for (const cell of cells) counts.set(cell.tone, (counts.get(cell.tone) ?? 0) + 1);
  const words = { green: "picked", heat2: "would fit", heat1: "refused", off: "not to choose from" };
  const legend = Object.keys(words).filter((tone) => counts.get(tone)).map((tone) => [tone, `${counts.get(tone).toLocaleString("en")} ${words[tone]}`]);
  return html`<${Cells} cells=${cells} size=${cells.length > 6000 ? 4 : cells.length > 1500 ? 6 : cells.length > 200 ? 9 : 14} label=${legend.map(([, told]) => told).join(", ")} href=${(cell) => clusterAddress(cell.name)} /><${Legend} of=${legend} />`;
};

/** The clusters that come nearest to fitting, with every reason. */
export const Nearest = ({ candidates, most = 5 }) => {
  const misses = candidates.filter((one) => !one.feasible && !one.picked && !one.outOfScope);
  if (misses.length === 0) return html`<p class="empty">No cluster to choose from is refused.</p>`;
  return html`<ol class="misses">${misses.slice(0, most).map((one) => html`<li><a href=${clusterAddress(text(one.target) || one.clusterName)}>${one.clusterName}</a>
    <ul>${reasonsOf(one).map((reason) => html`<li>${reason}</li>`)}</ul></li>`)}</ol>
    ${misses.length > most && html`<p class="hint">${many(misses.length - most, "more cluster")} refused, below</p>`}`;
};

/** Every cluster with its verdict and every reason. */
export const Everyone = ({ candidates, query, set, before }) => {
  const typed = (query.find ?? "").toLowerCase();
  const has = (one) => !typed || one.clusterName.toLowerCase().includes(typed) || (one.rejections ?? []).some((reason) => `${reason.plugin} ${reason.reason} ${reason.message}`.toLowerCase().includes(typed));
  const rows = candidates.filter(has);
  const was = before && new Map(before.map((one) => [one.target, verdictOf(one)[0]]));
  const verdict = (row) => {
    const [word, tone] = verdictOf(row);
    return html`<${State} tone=${tone}>${word}</${State}>${was && was.get(row.target) !== word && html` <small>was ${was.get(row.target) ?? "not there"}</small>`}`;
  };
  const name = (row) => (row.target ? html`<a href=${clusterAddress(row.target)}>${row.clusterName}</a>` : text(row.clusterName));
  const columns = [
    { title: "Verdict", sort: (row) => verdictOf(row)[0], cell: verdict },
    { title: "Cluster", sort: (row) => row.clusterName, cell: name },
    { title: "Rank", sort: (row) => row.rank ?? Number.MAX_SAFE_INTEGER, cell: (row) => text(row.rank) },
    { title: "Score", sort: (row) => -(row.score ?? 0), cell: (row) => (row.score !== undefined ? text(row.score) : (row.scores ?? []).map((score) => text(score.value ?? "–")).join(" / ")) },
    { title: "Why", wide: true, cell: (row) => html`<span class="why">${reasonsOf(row).join("; ")}</span>` },
  ];
  const isDivided = candidates.some((one) => one.amount !== undefined && one.amount !== null);
  if (isDivided) columns.splice(2, 0, { title: "Amount", sort: (row) => -(row.amount ?? -1), cell: (row) => text(row.amount) });
  const brief = (row) => html`<div class="brief"><div>${verdict(row)} ${name(row)}${isDivided && row.amount ? ` ${row.amount}` : ""}</div><p>${reasonsOf(row).join("; ") || (row.rank ? `rank ${row.rank}` : "")}</p></div>`;
  return html`<div><label class="search">Find <input type="search" value=${query.find ?? ""} placeholder="a cluster or a reason" onInput=${(event) => set({ find: event.target.value })} /></label>
    <span class="count" role="status">${rows.length === candidates.length ? many(rows.length, "cluster") : `${rows.length} of ${candidates.length} clusters`}</span>
    <${Table} label="Every cluster" columns=${columns} rows=${rows} brief=${brief} id=${(row) => row.target || row.clusterName} empty="No cluster matches." /></div>`;
};
