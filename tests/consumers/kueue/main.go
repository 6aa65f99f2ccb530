// Command kueue is what of Kueue a MultiKueue needs: the controllers of its clusters and of the Workloads that go there, as
// Kueue starts them, and, in place of its scheduler, which wants nodes and queues, the reservation of quota that they wait for.
// It prints a line of JSON once it is ready, or done.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/admissionchecks/multikueue"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/workload"
)

// asked is what the command line says.
type asked struct {
	kubeconfig, namespace, dispatcher, provider, plugin, name, check string
}

func main() {
	// A set of its own: the libraries have flags of the same names.
	flags := flag.NewFlagSet("kueue", flag.ExitOnError)
	var asked asked
	flags.StringVar(&asked.kubeconfig, "kubeconfig", "", "the cluster")
	flags.StringVar(&asked.namespace, "namespace", "", "Kueue's namespace (run), or the Workload's (reserve)")
	flags.StringVar(&asked.dispatcher, "dispatcher", "", "multiKueue.dispatcherName (run)")
	flags.StringVar(&asked.provider, "provider", "", "the access provider of ClusterProfiles (run)")
	flags.StringVar(&asked.plugin, "plugin", "", "the program with its credentials (run)")
	flags.StringVar(&asked.name, "name", "", "the Workload (reserve)")
	flags.StringVar(&asked.check, "check", "", "the admission check that it waits for, if any (reserve)")
	_ = flags.Parse(os.Args[1:]) // ExitOnError
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, flags.Arg(0), asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, what string, asked asked) error {
	config, err := clientcmd.BuildConfigFromFlags("", asked.kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme, inventory.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	switch what {
	case "run":
		return multiKueue(ctx, config, scheme, asked)
	case "reserve":
		return reserve(ctx, config, scheme, asked)
	}
	return errors.New("say what to do: run or reserve")
}

// multiKueue runs Kueue's controllers of MultiKueue.
func multiKueue(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, asked asked) error {
	if err := utilfeature.DefaultMutableFeatureGate.Set("MultiKueueClusterProfile=true"); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	indexer := manager.GetFieldIndexer()
	if err := multikueue.SetupIndexer(ctx, indexer, asked.namespace); err != nil {
		return err
	}
	// One of the indexes that Kueue's own controllers of Workloads bring along.
	checks := func(object client.Object) []string {
		var names []string
		for _, check := range object.(*kueue.Workload).Status.AdmissionChecks {
			names = append(names, string(check.Name))
		}
		return names
	}
	if err := indexer.IndexField(ctx, &kueue.Workload{}, multikueue.WorkloadsWithAdmissionCheckKey, checks); err != nil {
		return err
	}
	adapters, err := jobframework.GetMultiKueueAdapters(sets.New(job.FrameworkName))
	if err != nil {
		return err
	}
	err = multikueue.SetupControllers(manager, asked.namespace,
		multikueue.WithAdapters(adapters),
		multikueue.WithDispatcherName(asked.dispatcher),
		multikueue.WithEventsBatchPeriod(50*time.Millisecond),
		multikueue.WithClusterProfiles(&configapi.ClusterProfile{
			CredentialsProviders: []configapi.ClusterProfileCredentialsProvider{{
				Name: asked.provider,
				ExecConfig: clientcmdapi.ExecConfig{
					APIVersion:      "client.authentication.k8s.io/v1",
					Command:         asked.plugin,
					InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
				},
			}},
		}))
	if err != nil {
		return err
	}
	if err := say(map[string]any{"adapters": len(adapters)}); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// reserve gives a Workload its quota, as Kueue's scheduler does: by server-side apply of its status.
func reserve(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, asked asked) error {
	cluster, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	var wanted kueue.Workload
	key := types.NamespacedName{Namespace: asked.namespace, Name: asked.name}
	if err := cluster.Get(ctx, key, &wanted); err != nil {
		return err
	}
	now := clock.RealClock{}
	admission := &kueue.Admission{ClusterQueue: "everything"}
	for _, set := range wanted.Spec.PodSets {
		admission.PodSetAssignments = append(admission.PodSetAssignments,
			kueue.PodSetAssignment{Name: set.Name, Count: &set.Count})
	}
	err = workload.PatchAdmissionStatus(ctx, cluster, &wanted, now, func(wanted *kueue.Workload) (bool, error) {
		workload.SetQuotaReservation(wanted, admission, now)
		if asked.check != "" {
			state := kueue.AdmissionCheckState{Name: kueue.AdmissionCheckReference(asked.check), State: kueue.CheckStatePending}
			workload.SetAdmissionCheckState(&wanted.Status.AdmissionChecks, state, now)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return say(map[string]any{"reserved": wanted.Name})
}

// say prints one line.
func say(line any) error {
	return json.NewEncoder(os.Stdout).Encode(line)
}
