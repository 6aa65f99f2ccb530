// Requests to the API, by way of the process that serves this page. Nothing here knows what is shown.

const KEY = "berth-console-token";
const GROUP = "/apis/scheduling.berth.dev/v1alpha1";
const CHANNEL = "berth-console";
/** How long a new tab waits for another one to tell it the token, in ms. */
const PATIENCE = 400;

/**
 * Takes the token out of the address, so that it is in no bookmark and on no screenshot. A tab that was opened with a link of
 * another one asks that one: nothing is stored beyond the tabs of this run.
 */
export async function takeToken() {
  const found = /^#token=([0-9a-f]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", location.pathname + "#/overview");
  }
  const channel = new BroadcastChannel(CHANNEL);
  const known = () => sessionStorage.getItem(KEY);
  if (!known()) {
    await new Promise((go) => {
      channel.onmessage = ({ data }) => {
        if (typeof data?.token !== "string") return;
        sessionStorage.setItem(KEY, data.token);
        go();
      };
      channel.postMessage("ask");
      setTimeout(go, PATIENCE);
    });
  }
  channel.onmessage = ({ data }) => data === "ask" && known() && channel.postMessage({ token: known() });
}

/** What the server refused, or that none answered. */
export class Refused extends Error {
  /** @param {number} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: { "x-berth-console-token": sessionStorage.getItem(KEY) ?? "", accept: "application/json", ...options.headers },
      credentials: "omit",
      cache: "no-store",
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused(0, "The console does not answer: has berth console ended?");
  }
  if (response.ok) return response;
  let message = response.statusText;
  try {
    message = (await response.json()).message ?? message;
  } catch {
    // An answer that is no Status has its code only.
  }
  throw new Refused(response.status, `${message} (${response.status})`);
}

/** What the console knows of itself. */
export const about = async () => (await request("/-/about")).json();

/** The resources of a group and version, by discovery. */
export const discovery = async (apiVersion) =>
  (await (await request(`/cluster/apis/${apiVersion}`)).json()).resources ?? [];

/** The resources and subresources there are in Berth's group. */
export const resources = async () => new Set((await discovery("scheduling.berth.dev/v1alpha1")).map((one) => one.name));

/** @param {string} path below Berth's group */
export const get = async (path, signal) => (await request(`/cluster${GROUP}/${path}`, { signal })).json();

/** The object that a reference names. */
export async function source({ apiVersion, kind, namespace, name }) {
  const found = (await discovery(apiVersion)).find((one) => one.kind === kind && !one.name.includes("/"));
  if (!found) throw new Refused(404, `The server has no kind ${kind} of ${apiVersion}.`);
  const within = found.namespaced && namespace ? `/namespaces/${namespace}` : "";
  return (await request(`/cluster/apis/${apiVersion}${within}/${found.name}/${name}`)).json();
}

/** @param {string} path @param {object} body */
export const post = async (path, body, signal) =>
  (await request(`/cluster${GROUP}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  })).json();

/** Asks what would be decided. Nothing is stored. */
export const review = async (spec, signal) =>
  (await post("schedulingreviews", { apiVersion: "scheduling.berth.dev/v1alpha1", kind: "SchedulingReview", spec }, signal)).status;

/** Reads a list in pages, and gives it as it grows. */
async function pages(path, signal, selector, grew) {
  const items = new Map();
  let next = "";
  let version = "";
  do {
    const page = await get(`${path}?limit=500${selector}${next && `&continue=${encodeURIComponent(next)}`}`, signal);
    for (const item of page.items ?? []) items.set(key(item), item);
    next = page.metadata.continue ?? "";
    version = page.metadata.resourceVersion;
    if (next) grew(items);
  } while (next);
  return { items, version };
}

/** Every object of a list. */
export const all = async (path, signal, selector = "") => [...(await pages(path, signal, selector, () => {})).items.values()];

/**
 * Reads a whole list in pages, gives it as it grows, then follows it until `signal` is aborted. A list that expired
 * or a server that went away is read again, with growing delays.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {(items: Map<string, object>, problem: Refused | null, whole: boolean) => void} show
 */
export async function follow(path, signal, show) {
  let items = new Map();
  let delay = 500;
  while (!signal.aborted) {
    try {
      let due = 0;
      // The first page at once, then now and then: showing sorts and filters all that is there.
      const read = await pages(path, signal, "", (fresh) => {
        if (fresh.size <= items.size || performance.now() < due) return;
        show(fresh, null, false);
        due = performance.now() + 250;
      });
      items = read.items;
      show(items, null, true);
      delay = 500;
      await watch(path, read.version, items, signal, () => show(items, null, true));
    } catch (problem) {
      if (signal.aborted) return;
      show(items, problem, true);
      if (problem.code === 403 || problem.code === 401 || problem.code === 404) return;
      await new Promise((wake) => setTimeout(wake, delay));
      delay = Math.min(delay * 2, 10_000);
    }
  }
}

/** Reads one watch to its end and shows changes at most ten times a second. */
async function watch(path, version, items, signal, show) {
  const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=240&resourceVersion=${encodeURIComponent(version)}`;
  const response = await request(`/cluster${GROUP}/${path}?${query}`, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let due = 0;
  const soon = () => {
    due ||= setTimeout(() => {
      due = 0;
      if (!signal.aborted) show();
    }, 100);
  };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter(Boolean)) {
      const { type, object } = JSON.parse(line);
      // The list is read again, from its newest state.
      if (type === "ERROR") return;
      if (type === "BOOKMARK") continue;
      if (type === "DELETED") items.delete(key(object));
      else items.set(key(object), object);
      soon();
    }
  }
}

/** @param {any} item */
const key = (item) => `${item.kind}/${item.metadata.namespace ?? ""}/${item.metadata.name}`;

/** The path of a decision below Berth's group. */
export const decisionPath = (namespace, name) =>
  namespace ? `namespaces/${namespace}/decisions/${name}` : `clusterdecisions/${name}`;
