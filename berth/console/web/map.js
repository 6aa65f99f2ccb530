// The fleet as a map: providers side by side, their regions below one another, a cell for every cluster.

import { Component } from "./vendor/preact.module.js";
import { html, Cells, Legend } from "./parts.js";
import { compare, many, providerOf, regionOf, stateOf, usage, address, clusterAddress, bare, systemOf } from "./words.js";

const NARROW = 700;

/** The colour of a cluster: what is wrong with it before how full it is. */
export const toneOf = (target) => {
  const state = stateOf(target);
  if (state === "not ready") return "red";
  if (state !== "ready") return "amber";
  const part = usage(target);
  return part === null ? "heatx" : part < 0.35 ? "heat0" : part < 0.6 ? "heat1" : part < 0.82 ? "heat2" : "heat3";
};
const RANK = { red: 0, amber: 1, heat3: 2, heat2: 3, heat1: 4, heat0: 5, heatx: 6 };

/** The targets by provider and region, the largest first. */
const arranged = (targets) => {
  const providers = new Map();
  for (const target of targets) {
    const provider = providerOf(target);
    if (!providers.has(provider)) providers.set(provider, new Map());
    const regions = providers.get(provider);
    const region = regionOf(target);
    if (!regions.has(region)) regions.set(region, []);
    regions.get(region).push({ name: target.metadata.name, tone: toneOf(target), target });
  }
  const list = [...providers].map(([provider, regions]) => {
    const all = [...regions].map(([region, cells]) => ({ region, cells: cells.sort((a, b) => RANK[a.tone] - RANK[b.tone] || compare(a.name, b.name)) }));
    all.sort((a, b) => b.cells.length - a.cells.length || compare(a.region, b.region));
    return { provider, regions: all, count: all.reduce((sum, one) => sum + one.cells.length, 0) };
  });
  return list.sort((a, b) => b.count - a.count || compare(a.provider, b.provider));
};

const told = (cells) => {
  const counts = { red: 0, amber: 0 };
  for (const cell of cells) if (cell.tone in counts) counts[cell.tone] += 1;
  return `${many(cells.length, "cluster")}: ${counts.red} not ready, ${counts.amber} cordoned or tainted`;
};

const LEGEND = [["heat0", "under 35 % used"], ["heat1", "35–60 %"], ["heat2", "60–82 %"], ["heat3", "over 82 %"],
  ["heatx", "nothing counted"], ["amber", "cordoned or tainted"], ["red", "not ready"]];

/** Height of the name of a region, and width of the gap between providers, in pixels. */
const NAME = 24;
const GAP = 14;
const LARGEST = 18;
const SMALLEST = 4;

/** The largest cells with which every provider's column fits `height`. */
const fitting = (list, count, width, height) => {
  const wide = width - GAP * list.length;
  for (let size = LARGEST; size > SMALLEST; size--) {
    const tallest = list.map((provider) => {
      const columns = Math.max(1, Math.floor(Math.max(110, (wide * provider.count) / count) / size));
      return provider.regions.reduce((sum, region) => sum + NAME + size * Math.ceil(region.cells.length / columns), 0);
    });
    const needed = width < NARROW ? tallest.reduce((sum, one) => sum + one, 0) : Math.max(0, ...tallest);
    if (needed <= height) return size;
  }
  return SMALLEST;
};

/** Targets that did not change are not arranged again. */
let last = { targets: null, list: null };

export class FleetMap extends Component {
  constructor() {
    super();
    this.state = { width: 800, at: null };
    this.measure = () => this.box && this.setState({ width: this.box.clientWidth });
  }
  componentDidMount() {
    this.watcher = new ResizeObserver(this.measure);
    this.watcher.observe(this.box);
  }
  componentWillUnmount() {
    this.watcher.disconnect();
  }
  render({ targets, height = 560 }, { width, at }) {
    if (last.targets !== targets) last = { targets, list: arranged(targets) };
    const list = last.list;
    const size = fitting(list, targets.length, width, height);
    const point = (cell) => this.setState({ at: cell?.target ?? null });
    const part = at && usage(at);
    return html`<div class="map" ref=${(box) => (this.box = box)}>
      <div class="providers">${list.map(({ provider, regions, count }) => html`<div key=${provider} class="provider" style=${width < NARROW ? {} : { flexGrow: count }}>
        <h3><a href=${address("fleet", { provider })}>${provider}</a> <small>${count.toLocaleString("en")}</small></h3>
        ${regions.map(({ region, cells }) => html`<div key=${region} class="region">
          <a href=${address("fleet", { provider, region })}>${region}</a> <small>${cells.length.toLocaleString("en")}</small>
          <${Cells} cells=${cells} size=${size} label=${`${provider} ${region}: ${told(cells)}`} href=${(cell) => clusterAddress(cell.name)} point=${point} /></div>`)}
      </div>`)}</div>
      <${Legend} of=${LEGEND.filter(([tone]) => list.some((one) => one.regions.some((region) => region.cells.some((cell) => cell.tone === tone))))} />
      <p class="hint" aria-hidden="true">${at ? `${bare(at.metadata.name)} · ${systemOf(at)} · ${stateOf(at)}${part === null ? "" : ` · ${Math.round(part * 100)} % used`}` : "one cell per cluster, the stronger the blue the fuller; click a region to list it, a cell to see its cluster"}</p>
    </div>`;
  }
}
