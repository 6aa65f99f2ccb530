import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.http.HttpClient;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.jdkhttp.JdkHttpClientFactory;
import io.fabric8.kubernetes.client.vertx5.Vertx5HttpClientFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Does with a server what programs in Java do, by fabric8's client, over the HTTP client of the JDK and over Vert.x, which it takes
 * by itself. Prints a sentence for each thing that went as it should, and ends with the first that did not.
 */
class Client {
  static final int LIMIT = 30;
  static final String PLACEMENT = "cluster.open-cluster-management.io/v1beta1";

  public static void main(String[] arguments) throws Exception {
    over("jdk", new JdkHttpClientFactory());
    over("vertx", new Vertx5HttpClientFactory());
    // Threads of clients that are closed may live on for a while.
    System.exit(0);
  }

  static void over(String name, HttpClient.Factory factory) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().withHttpClientFactory(factory).build()) {
      if (client.namespaces().withName("default").get() == null) {
        throw new AssertionError("there is no namespace default");
      }
      System.out.println(name + ": starts with the key of the kubeconfig");
      watches(client, name);
      System.out.println(name + ": watches what comes, changes and goes");
      follows(client, name);
      System.out.println(name + ": watches the Decision of a Placement that it applies");
      informs(client, name);
      System.out.println(name + ": has an informer of Decisions");
      leads(client, name);
      System.out.println(name + ": is elected by a Lease");
    }
  }

  /** The next event that is wanted. */
  static void awaited(BlockingQueue<String> seen, String wanted) throws InterruptedException {
    List<String> others = new java.util.ArrayList<>();
    for (String event = ""; !wanted.equals(event); others.add(event)) {
      event = seen.poll(LIMIT, TimeUnit.SECONDS);
      if (event == null) {
        throw new AssertionError("no " + wanted + " after " + others);
      }
    }
  }

  static <T extends HasMetadata> Watcher<T> telling(BlockingQueue<String> seen) {
    return new Watcher<T>() {
      @Override
      public void eventReceived(Action action, T object) {
        seen.add(action + " " + object.getMetadata().getName());
      }

      @Override
      public void onClose(WatcherException cause) {
        seen.add("closed by " + cause);
      }
    };
  }

  static void watches(KubernetesClient client, String name) throws Exception {
    var maps = client.configMaps().inNamespace("default");
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    try (var watch = maps.watch(Client.<ConfigMap>telling(seen))) {
      ConfigMap map = new ConfigMapBuilder().withNewMetadata().withName(name).endMetadata().addToData("a", "b").build();
      maps.resource(map).create();
      awaited(seen, "ADDED " + name);
      ConfigMap edited = maps.withName(name).edit(old -> new ConfigMapBuilder(old).addToData("a", "c").build());
      if (!Map.of("a", "c").equals(edited.getData())) {
        throw new AssertionError(edited);
      }
      awaited(seen, "MODIFIED " + name);
      maps.withName(name).delete();
      awaited(seen, "DELETED " + name);
    }
  }

  static GenericKubernetesResource placement(String name, int clusters) {
    GenericKubernetesResource placement = new GenericKubernetesResource();
    placement.setApiVersion(PLACEMENT);
    placement.setKind("Placement");
    placement.setMetadata(new io.fabric8.kubernetes.api.model.ObjectMetaBuilder().withName(name).withNamespace("story-1").build());
    placement.setAdditionalProperty("spec", Map.of("numberOfClusters", clusters));
    return placement;
  }

  static void follows(KubernetesClient client, String name) throws Exception {
    var decisions = client.genericKubernetesResources("scheduling.berth.dev/v1alpha1", "Decision").inNamespace("story-1");
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    try (var watch = decisions.watch(Client.<GenericKubernetesResource>telling(seen))) {
      client.resource(placement(name, 1)).serverSideApply();
      awaited(seen, "ADDED " + name + ".ocm");
      var patch = new PatchContext.Builder().withPatchType(PatchType.JSON_MERGE).build();
      client.genericKubernetesResources(PLACEMENT, "Placement").inNamespace("story-1").withName(name)
          .patch(patch, "{\"spec\": {\"numberOfClusters\": 2}}");
      awaited(seen, "MODIFIED " + name + ".ocm");
    }
  }

  static void informs(KubernetesClient client, String name) throws Exception {
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    var decisions = client.genericKubernetesResources("scheduling.berth.dev/v1alpha1", "Decision").inNamespace("story-1");
    try (SharedIndexInformer<GenericKubernetesResource> informer = decisions.inform(new ResourceEventHandler<>() {
      @Override
      public void onAdd(GenericKubernetesResource object) {
        seen.add("added " + object.getMetadata().getName());
      }

      @Override
      public void onUpdate(GenericKubernetesResource old, GenericKubernetesResource object) {
        seen.add("updated " + object.getMetadata().getName());
      }

      @Override
      public void onDelete(GenericKubernetesResource object, boolean unknown) {
        seen.add("deleted " + object.getMetadata().getName());
      }
    })) {
      awaited(seen, "added " + name + ".ocm");
      client.resource(placement(name, 1)).delete();
      awaited(seen, "deleted " + name + ".ocm");
      if (informer.getStore().list().stream().anyMatch(object -> object.getMetadata().getName().equals(name + ".ocm"))) {
        throw new AssertionError("the store has what is gone");
      }
    }
  }

  static void leads(KubernetesClient client, String name) throws Exception {
    CompletableFuture<Void> led = new CompletableFuture<>();
    var election = new LeaderElectionConfigBuilder()
        .withName(name)
        .withLock(new LeaseLock("default", "fabric8-" + name, name))
        .withLeaseDuration(Duration.ofSeconds(4))
        .withRenewDeadline(Duration.ofSeconds(3))
        .withRetryPeriod(Duration.ofMillis(500))
        .withReleaseOnCancel(true)
        .withLeaderCallbacks(new LeaderCallbacks(() -> led.complete(null), () -> { }, leader -> { }))
        .build();
    var running = client.leaderElector().withConfig(election).build().start();
    led.get(LIMIT, TimeUnit.SECONDS);
    running.cancel(true);
  }
}
