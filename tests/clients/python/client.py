"""What a program in Python does with a server, by Kubernetes' own client.

Prints a sentence for each thing that went as it should, and ends with the first that did not.
"""

import os
import queue
import threading
import uuid

import yaml
from kubernetes import client, config, dynamic, watch
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

DECISIONS = ("scheduling.berth.dev", "v1alpha1", "story-1", "decisions")
CANDIDATES = ("scheduling.berth.dev", "v1alpha1", "story-1", "candidates")
PLACEMENTS = ("cluster.open-cluster-management.io", "v1beta1", "story-1", "placements")
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
LIMIT = 30


def did(what):
    print(what, flush=True)


def clusters(decision):
    return sorted(entry["clusterName"] for entry in decision["status"]["decisions"])


def lists(custom, core):
    items = custom.list_namespaced_custom_object(*DECISIONS)["items"]
    names = {item["metadata"]["name"]: clusters(item) for item in items}
    assert len(names["placement.ocm"]) == 3, names
    did("lists Decisions")
    for cluster in names["placement.ocm"]:
        candidate = custom.get_namespaced_custom_object(*CANDIDATES, f"placement.ocm:{cluster}")
        assert candidate["metadata"]["name"] == f"placement.ocm:{cluster}", candidate
    did("gets a Candidate by the names of its decision and its cluster")
    found = core.list_namespace(limit=1)
    assert len(found.items) == 1 and found.metadata._continue, found
    did("lists in pages")


def watches(custom):
    start = custom.list_namespaced_custom_object(*DECISIONS)["metadata"]["resourceVersion"]
    one = {"spec": {"numberOfClusters": 1}}
    custom.patch_namespaced_custom_object(*PLACEMENTS, "placement", one, _content_type=MERGE)
    stream = watch.Watch()
    for event in stream.stream(
        custom.list_namespaced_custom_object, *DECISIONS, resource_version=start, timeout_seconds=LIMIT
    ):
        if event["object"]["metadata"]["name"] == "placement.ocm" and len(clusters(event["object"])) == 1:
            did("watches a Decision follow a patch of its Placement")
            stream.stop()
            return
    raise AssertionError("the watch ended without it")


def informs(core):
    seen = queue.Queue()
    informer = SharedInformer(core.list_namespaced_config_map, namespace="default")
    informer.add_event_handler("ADDED", lambda object: seen.put(("ADDED", object.metadata.name)))
    informer.add_event_handler("DELETED", lambda object: seen.put(("DELETED", object.metadata.name)))
    informer.start()
    core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="python")))
    awaited(seen, ("ADDED", "python"))
    assert informer.cache.get_by_key("default/python"), informer.cache.list_keys()
    core.delete_namespaced_config_map("python", "default")
    awaited(seen, ("DELETED", "python"))
    informer.stop()
    did("has an informer that is told what comes and goes")


def awaited(seen, wanted):
    while seen.get(timeout=LIMIT) != wanted:
        pass


def patches(apps):
    labels = {"app": "web"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]},
        },
    }
    apps.create_namespaced_deployment(
        "default", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    )
    # The client sends a strategic merge patch where the body is no list.
    containers = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b:2"}]}}}}
    patched = apps.patch_namespaced_deployment("web", "default", containers)
    images = [container.image for container in patched.spec.template.spec.containers]
    assert sorted(images) == ["a:1", "b:2"], images
    operations = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "c:1"}]
    patched = apps.patch_namespaced_deployment("web", "default", operations)
    assert patched.spec.template.spec.containers[0].image == "c:1", patched
    did("patches by strategic merge and by JSON patch")
    scale = apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 5}})
    assert scale.spec.replicas == 5, scale
    assert apps.read_namespaced_deployment("web", "default").spec.replicas == 5
    did("patches a scale")


def applies(core):
    def wanted(**data):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}

    def apply(manager, data, force=None):
        return core.patch_namespaced_config_map(
            "applied", "default", wanted(**data), field_manager=manager, force=force, _content_type=APPLY
        )

    apply("one", {"a": "1", "b": "1"})
    try:
        apply("two", {"a": "2"})
        raise AssertionError("a second owner is no conflict")
    except client.ApiException as problem:
        assert problem.status == 409, problem
    apply("two", {"a": "2"}, force=True)
    assert apply("one", {}).data == {"a": "2"}
    kinds = dynamic.DynamicClient(core.api_client)
    placements = kinds.resources.get(api_version="cluster.open-cluster-management.io/v1beta1", kind="Placement")
    body = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "applied", "namespace": "story-1"},
        "spec": {"numberOfClusters": 1},
    }
    made = placements.server_side_apply(body=body, field_manager="python")
    assert made.spec.numberOfClusters == 1, made
    did("applies, with owners and conflicts")


def refused(api):
    text = """
    apiVersion: config.berth.dev/v1alpha1
    kind: SchedulerConfiguration
    metadata: {name: ocm}
    spec: {autoBind: Off}
    """
    try:
        kinds = dynamic.DynamicClient(api)
        body = yaml.safe_load(text)
        kinds.resources.get(api_version=body["apiVersion"], kind=body["kind"]).create(body=body)
        raise AssertionError("a boolean is taken for a word")
    except dynamic.exceptions.UnprocessibleEntityError as problem:
        assert "with the quotes" in str(problem.body), problem.body
    did("is told to quote what YAML takes for a boolean")


def leads():
    led = threading.Event()
    lock = LeaseLock("python", "default", str(uuid.uuid4()))
    election = electionconfig.Config(
        lock, lease_duration=4, renew_deadline=3, retry_period=1, onstarted_leading=led.set, onstopped_leading=None
    )
    threading.Thread(target=leaderelection.LeaderElection(election).run, daemon=True).start()
    assert led.wait(LIMIT), "it was never elected"
    did("is elected by a Lease")


def main():
    config.load_kube_config()
    api = client.ApiClient()
    core, apps, custom = client.CoreV1Api(api), client.AppsV1Api(api), client.CustomObjectsApi(api)
    lists(custom, core)
    watches(custom)
    informs(core)
    patches(apps)
    applies(core)
    refused(api)
    leads()
    # The election goes on in a thread of its own.
    os._exit(0)


if __name__ == "__main__":
    main()
