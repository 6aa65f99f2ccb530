"""An operator of Placements, made with kopf, which runs until it has seen one come, change and go.

Prints a sentence for each thing that went as it should. Its handlers write into the Placements, and hold them by a finalizer.
"""

import asyncio
import threading

import kopf
from kubernetes import client, config

KIND = ("cluster.open-cluster-management.io", "v1beta1", "placements")
PLACE = (*KIND[:2], "story-1", KIND[2])
LIMIT = 60

events = {name: threading.Event() for name in ("created", "updated", "decided", "deleted")}


@kopf.on.startup()
def configured(settings, **_):
    settings.persistence.finalizer = "operators.berth.dev/placements"


@kopf.on.create(*KIND, field="metadata.name", value="kopf")
def created(patch, **_):
    patch.metadata.annotations["operators.berth.dev/created"] = "yes"
    events["created"].set()
    return {"by": "kopf"}


@kopf.on.update(*KIND, field="spec.numberOfClusters", old=1, new=2)
def updated(patch, **_):
    patch.metadata.annotations["operators.berth.dev/updated"] = "yes"
    events["updated"].set()


@kopf.on.event("scheduling.berth.dev", "v1alpha1", "decisions")
def decided(body, **_):
    if body["metadata"]["name"] == "kopf.ocm" and len(body["status"].get("decisions", [])) == 2:
        events["decided"].set()


@kopf.on.delete(*KIND, field="metadata.name", value="kopf")
def deleted(**_):
    events["deleted"].set()


def awaited(name):
    assert events[name].wait(LIMIT), f"the handler of what is {name} was not called"


def until(what, ask):
    waited = threading.Event()
    for _ in range(LIMIT * 20):
        if ask():
            return
        waited.wait(0.05)
    raise AssertionError(what)


def story():
    config.load_kube_config()
    custom = client.CustomObjectsApi()
    placement = {
        "apiVersion": "/".join(KIND[:2]),
        "kind": "Placement",
        "metadata": {"name": "kopf"},
        "spec": {"numberOfClusters": 1},
    }
    custom.create_namespaced_custom_object(*PLACE, placement)
    awaited("created")

    def annotated(word):
        metadata = custom.get_namespaced_custom_object(*PLACE, "kopf")["metadata"]
        return metadata.get("annotations", {}).get(f"operators.berth.dev/{word}") == "yes" and metadata.get("finalizers")

    until("what the handler wrote is not there", lambda: annotated("created"))
    print("a handler is called for what is created, and what it writes is kept", flush=True)
    two = {"spec": {"numberOfClusters": 2}}
    custom.patch_namespaced_custom_object(*PLACE, "kopf", two, _content_type="application/merge-patch+json")
    awaited("updated")
    awaited("decided")
    print("handlers are called for a change, and for the Decision that follows", flush=True)
    until("what the handler wrote is not there", lambda: annotated("updated"))
    custom.delete_namespaced_custom_object(*PLACE, "kopf")
    awaited("deleted")

    def gone():
        names = [item["metadata"]["name"] for item in custom.list_namespaced_custom_object(*PLACE)["items"]]
        return "kopf" not in names

    until("what was to go is there", gone)
    print("a handler is called for what is deleted, which waits for it", flush=True)


async def main():
    kopf.configure(verbose=False)
    stop = asyncio.Event()
    operator = asyncio.create_task(kopf.operator(clusterwide=True, standalone=True, stop_flag=stop))
    told = asyncio.create_task(asyncio.to_thread(story))
    await asyncio.wait({operator, told}, return_when=asyncio.FIRST_COMPLETED)
    if not told.done():
        operator.result()
        raise AssertionError("the operator stopped by itself")
    stop.set()
    told.result()
    await operator


if __name__ == "__main__":
    asyncio.run(main())
