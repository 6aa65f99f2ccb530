// The words for people: one vocabulary, which is that of the terminal and of the documentation.

/** Text for people of anything the API may hold. */
export const text = (value) =>
  value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

export const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** A number of things: `1 cluster`, `2,000 clusters`. */
export const many = (count, one, several = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : several}`;

/** The phases, the worst first: word, tone, rank. */
export const PHASES = {
  Unschedulable: ["no place", "bad"],
  Invalid: ["not understood", "bad"],
  Partial: ["placed in part", "warn"],
  Pending: ["waiting", "warn"],
  Releasing: ["leaving", "calm"],
  Bound: ["placed", "good"],
  Ignored: ["left alone", "calm"],
};
const ORDER = Object.keys(PHASES);

export const phaseWord = (phase) => PHASES[phase]?.[0] ?? text(phase);
export const phaseTone = (phase) => PHASES[phase]?.[1] ?? "calm";
export const phaseRank = (phase) => (ORDER.includes(phase) ? ORDER.indexOf(phase) : ORDER.length);

/** The system is what stands behind the last dot of a name. */
export const systemOf = (item) => item.spec?.dialect ?? item.metadata.name.slice(item.metadata.name.lastIndexOf(".") + 1);
export const bare = (name) => name.slice(0, name.lastIndexOf("."));

/** The clusters a decision is on; those on their way out are no place any more. */
export const placesOf = (decision) => (decision.status?.decisions ?? []).filter((one) => !one.leaving);

/** How many places there are of those asked for: `13 of 40`, or the number alone where none is asked for. */
export const share = (decision) => {
  const have = placesOf(decision).length;
  const wanted = decision.status?.wanted;
  return wanted === undefined ? String(have) : `${have} of ${wanted}`;
};

/** A cluster with what it gets, as in the terminal: `frankfurt:5`; the name alone where nothing is divided. */
export const portion = (name, amount) => (amount === undefined || amount === null ? text(name) : `${text(name)}:${amount}`);

/** How much there is of what is divided among clusters: `12 of 12 replicas`; nothing where nothing is. */
export const divided = (decision) => {
  const amount = decision.status?.amount;
  return amount ? `${amount.placed} of ${amount.wanted} ${text(amount.name)}` : "";
};

/** `3 of 4 clusters`. */
export const clusters = (decision) => `${share(decision)} ${decision.status?.wanted === 1 ? "cluster" : "clusters"}`;

/** The clusters that a record has on both sides, with different amounts. */
export const resizedBy = (record) => {
  const before = new Map((record.spec.from?.clusters ?? []).map((one) => [one.clusterName, one.amount]));
  const both = (record.spec.to?.clusters ?? []).filter((one) => before.has(one.clusterName) && before.get(one.clusterName) !== one.amount);
  return both.map((one) => ({ clusterName: one.clusterName, from: before.get(one.clusterName), to: one.amount }));
};

/** Where a request stands, in one sentence. */
export const standing = (decision) => {
  const status = decision.status ?? {};
  const places = placesOf(decision);
  const on = status.wanted === undefined && places.length === 1 ? places[0].clusterName
    : status.wanted === undefined ? many(places.length, "cluster") : clusters(decision);
  if (status.phase === "Bound" || status.phase === "Partial") return `Placed on ${[on, divided(decision)].filter(Boolean).join(", ")}.`;
  return text(status.message) || `${phaseWord(status.phase)}.`;
};

/** Whether a cluster takes requests: the word and its tone. */
export const stateOf = (target) => {
  const ready = (target.status?.conditions ?? []).find((one) => one.type === "Ready");
  if (ready?.status !== "True") return "not ready";
  if (target.status?.cordoned) return "cordoned";
  return (target.status?.taints ?? []).length ? "tainted" : "ready";
};
export const STATES = { "not ready": "bad", cordoned: "warn", tainted: "warn", ready: "good" };

/** The fullest of what is counted, from 0 to 1; null where nothing has a limit. */
export const usage = (target) => {
  const parts = (target.status?.capacity ?? [])
    .map((one) => Number.parseFloat(one.used ?? 0) / Number.parseFloat(one.limit))
    .filter(Number.isFinite);
  return parts.length ? Math.max(...parts) : null;
};

/** The spelling of a provider: systems write it in several. */
export const providerOf = (target) => text(target.status?.provider).toLowerCase() || "no provider";
export const regionOf = (target) => text(target.status?.region) || "no region";

/** A judgement of a cluster: the word and its tone. */
export const verdictOf = (candidate) =>
  candidate.picked ? ["picked", "good"] : candidate.feasible ? ["not picked", "calm"]
    : candidate.outOfScope ? ["not to choose from", "off"] : ["refused", "bad"];

/** Why a cluster is not picked, every reason as a sentence. */
export const reasonsOf = (candidate) => (candidate.rejections ?? []).map((one) => text(one.message) || `${text(one.plugin)}/${text(one.reason)}`);

/** Words of a filter's name: `TaintToleration` is `Taint toleration`. */
export const plain = (name) => text(name).replace(/([a-z0-9])([A-Z])(?=[a-z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`).replace(/([a-z])([A-Z])/g, "$1 $2");

/** A cause without the names and numbers of one request: those that share it have one cause. */
export const shape = (message) => text(message)
  .replace(/Nearest: .*?: /, "")
  .replace(/; (it is the only .* in [^;]*|\d+ more (is|are) as near)/g, "")
  .replace(/of [\d,]+ none/, "none")
  .replace(/; [\d,]+ (has|have|match(es)?) [^;]*/g, "")
  .replace(/"[^"]*"/g, "…")
  .replace(/\d+/g, "#");

/** How long ago, in the unit that says most. */
export const ago = (when, now = Date.now()) => {
  const seconds = Math.max(0, (now - Date.parse(when)) / 1000);
  if (!Number.isFinite(seconds)) return "";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= 2 * size) return `${Math.floor(seconds / size)}${unit}`;
  }
  return `${Math.floor(seconds)}s`;
};

/** A time of day where it is today, else with its date, in UTC as everything the API says. */
export const clock = (when) => {
  const [day, time] = text(when).slice(0, 19).split("T");
  return day === new Date().toISOString().slice(0, 10) ? time : `${day} ${text(time).slice(0, 5)}`;
};

/** Why a decision changed, as a sentence. */
export const causeOf = (cause) => {
  switch (cause?.type) {
    case "Object": {
      const place = [cause.namespace, cause.name].filter(Boolean).map(text).join("/") || "in another namespace";
      const known = text(cause.fieldManager);
      const by = known && known !== "unknown" ? ` with ${known}` : "";
      const more = cause.more ? `, one of ${text(cause.more + 1)} changes` : "";
      return `${text(cause.kind)} ${place} was ${text(cause.verb).toLowerCase()}${by}${more}`;
    }
    case "Request": return "a Binding was created";
    case "Time": return "re-evaluated (no object changed)";
    case "Unseen": return "seen at the start of a server (no server recorded the change)";
    default: return text(cause?.type);
  }
};

/** The verdicts of plans and records: their tones. */
export const VERDICTS = { Bound: "good", Fits: "good", Grown: "good", Resized: "good", Moved: "warn", Shrunk: "warn", Removed: "calm", Lost: "bad", Unplaced: "bad", Same: "calm" };
export const VERDICT_WORDS = { Bound: "placed", Fits: "gets a place", Grown: "grew", Resized: "resized", Moved: "moved", Shrunk: "shrank", Removed: "removed", Lost: "lost its place", Unplaced: "no place", Same: "same clusters" };

/** The address of a view. */
export const address = (view, query = {}) => {
  const kept = Object.entries(query).filter(([, value]) => value);
  return `#/${view}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
};
export const requestAddress = (decision) =>
  address("request", { namespace: decision.metadata.namespace ?? "", name: decision.metadata.name });
export const clusterAddress = (name) => address("cluster", { name });

/** How a Decision is named on the command line. */
export const whyCommand = (decision) => {
  const source = decision.spec?.sourceRef;
  if (!source) return "";
  return `berth why ${text(source.kind).toLowerCase()}/${text(source.name)}${source.namespace ? ` -n ${text(source.namespace)}` : ""}`;
};
