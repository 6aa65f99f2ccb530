// What a program in JavaScript does with a server, by Kubernetes' own client. Prints a sentence for each thing that went
// as it should, and ends with the first that did not.

import assert from 'node:assert/strict';
import {
  AppsV1Api, CoreV1Api, CustomObjectsApi, KubeConfig, KubernetesObjectApi, makeInformer, PatchStrategy, Watch,
} from '@kubernetes/client-node';
import WebSocket from 'ws';

const LIMIT = 30_000;
const config = new KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);
const custom = config.makeApiClient(CustomObjectsApi);
const objects = KubernetesObjectApi.makeApiClient(config);
const decisions = { group: 'scheduling.berth.dev', version: 'v1alpha1', namespace: 'story-1', plural: 'decisions' };
const placement = {
  apiVersion: 'cluster.open-cluster-management.io/v1beta1', kind: 'Placement', metadata: { namespace: 'story-1', name: 'node' },
};

/** The promise of a call of `resolve`, in time. */
function told(what) {
  let resolve;
  const promise = new Promise((done, failed) => {
    resolve = done;
    setTimeout(() => failed(new Error(`waited too long for ${what}`)), LIMIT).unref();
  });
  return { promise, resolve };
}

async function lists() {
  const list = await custom.listNamespacedCustomObject(decisions);
  const found = list.items.find((item) => item.metadata.name === 'placement.ocm');
  assert.equal(found.status.decisions.length, 3);
  console.log('lists Decisions');
  return list.metadata.resourceVersion;
}

async function watches(resourceVersion) {
  const decided = told('the Decision');
  const watch = await new Watch(config).watch(
    '/apis/scheduling.berth.dev/v1alpha1/namespaces/story-1/decisions',
    { resourceVersion },
    (type, object) => {
      if (object.metadata.name === 'node.ocm' && object.status.decisions?.length === 2) decided.resolve(type);
    },
    () => {},
  );
  // An apply makes it.
  const spec = { numberOfClusters: 2 };
  await objects.patch({ ...placement, spec }, undefined, undefined, 'node', true, PatchStrategy.ServerSideApply);
  await decided.promise;
  watch.abort();
  console.log('watches a Decision appear for a Placement that it applies');
}

async function informs() {
  const [added, changed, gone] = [told('ADDED'), told('MODIFIED'), told('DELETED')];
  const list = () => core.listNamespacedConfigMap({ namespace: 'default' });
  const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', list);
  const about = (resolve) => (object) => object.metadata.name === 'node' && resolve();
  informer.on('add', about(added.resolve));
  informer.on('update', about(changed.resolve));
  informer.on('delete', about(gone.resolve));
  await informer.start();
  const body = { metadata: { name: 'node' }, data: { a: 'b' } };
  const made = await core.createNamespacedConfigMap({ namespace: 'default', body });
  await added.promise;
  await core.replaceNamespacedConfigMap({ namespace: 'default', name: 'node', body: { ...made, data: { a: 'c' } } });
  await changed.promise;
  assert.deepEqual(informer.get('node', 'default').data, { a: 'c' });
  await core.deleteNamespacedConfigMap({ namespace: 'default', name: 'node' });
  await gone.promise;
  await informer.stop();
  console.log('has an informer that is told what comes, changes and goes');
}

async function patches() {
  const labels = { app: 'node' };
  const spec = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a:1' }] } },
  };
  const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'default', name: 'node' }, spec };
  await objects.create(body);
  const images = { spec: { template: { spec: { containers: [{ name: 'b', image: 'b:1' }] } } } };
  const patched = await objects.patch({ ...body, ...images });
  assert.deepEqual(patched.spec.template.spec.containers.map((container) => container.name).sort(), ['a', 'b']);
  const scale = await apps.readNamespacedDeploymentScale({ namespace: 'default', name: 'node' });
  scale.spec.replicas = 3;
  const scaled = await apps.replaceNamespacedDeploymentScale({ namespace: 'default', name: 'node', body: scale });
  assert.equal(scaled.spec.replicas, 3);
  console.log('patches by strategic merge, and scales');
}

/** As pages in a browser do, to whom `kubectl proxy` lends its credentials. */
async function watchesThroughAProxy() {
  const path = '/api/v1/namespaces/default/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const socket = new WebSocket(process.env.PROXY.replace('http', 'ws') + path);
  const [synced, added] = [told('the end of what is there'), told('what is new')];
  socket.on('message', (message) => {
    const { type, object } = JSON.parse(message);
    if (type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end']) synced.resolve();
    if (type === 'ADDED' && object.metadata.name === 'proxy') added.resolve();
  });
  socket.on('error', (error) => console.error(error));
  await synced.promise;
  await core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'proxy' } } });
  await added.promise;
  socket.close();
  console.log('watches by WebSocket through kubectl proxy');
}

const from = await lists();
await watches(from);
await informs();
await patches();
await watchesThroughAProxy();
// Agents that keep connections would let it wait.
process.exit(0);
