package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	namespace = "default"
	protobuf  = "application/vnd.kubernetes.protobuf"
)

// forms remembers answers that are not protobuf.
type forms struct {
	next   http.RoundTripper
	mu     sync.Mutex
	others []string
	count  int
}

func (f *forms) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := f.next.RoundTrip(request)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.count++
		if form := response.Header.Get("Content-Type"); !strings.HasPrefix(form, protobuf) {
			f.others = append(f.others, fmt.Sprintf("%s %s: %s", request.Method, request.URL, form))
		}
	}
	return response, err
}

// inProtobuf goes by client-go's types as Kubernetes' own controllers do.
func inProtobuf(ctx context.Context, config *rest.Config) error {
	config.ContentType = protobuf
	config.AcceptContentTypes = protobuf + ",application/json"
	seen := &forms{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	})
	if err := byTypes(ctx, config); err != nil {
		return err
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.others) > 0 {
		return fmt.Errorf("%d of %d answers are no protobuf: %s", len(seen.others), seen.count, strings.Join(seen.others, "\n"))
	}
	did("every answer is protobuf")
	return nil
}

// typed goes by client-go's types in JSON.
func typed(ctx context.Context, config *rest.Config) error {
	// Left to itself it takes protobuf.
	config.ContentType = "application/json"
	return byTypes(ctx, config)
}

func byTypes(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	steps := []func(context.Context, kubernetes.Interface) error{whole, events, scaled, applied, paged, informed, aggregated}
	for _, step := range steps {
		if err := step(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": "typed"}, Finalizers: []string{"example.com/kept"}},
		Data:       map[string]string{"text": "ä\n"},
		BinaryData: map[string][]byte{"bytes": {0, 255}},
	}
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	replicas, none, surge := int32(3), int64(0), intstr.FromString("25%")
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"empty": ""}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &none,
					Containers: []corev1.Container{{
						Name: "web", Image: "web:1", Args: []string{"--port", "80"},
						Ports: []corev1.ContainerPort{{ContainerPort: 80}},
						Env: []corev1.EnvVar{{Name: "OF", ValueFrom: &corev1.EnvVarSource{
							FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("250m")}},
						ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
							HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}}},
					}},
				},
			},
		},
	}
}

// whole sends objects and gets them back with nothing missing.
func whole(ctx context.Context, client kubernetes.Interface) error {
	maps, wanted := client.CoreV1().ConfigMaps(namespace), configMap("whole")
	if _, err := maps.Create(ctx, wanted, metav1.CreateOptions{}); err != nil {
		return err
	}
	got, err := maps.Get(ctx, "whole", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(got.Data, wanted.Data) || !equality.Semantic.DeepEqual(got.BinaryData, wanted.BinaryData) ||
		!equality.Semantic.DeepEqual(got.Labels, wanted.Labels) || !equality.Semantic.DeepEqual(got.Finalizers, wanted.Finalizers) {
		return fmt.Errorf("sent %v, got %v", wanted, got)
	}
	sent := deployment("whole")
	made, err := client.AppsV1().Deployments(namespace).Create(ctx, sent, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	read, err := client.AppsV1().Deployments(namespace).Get(ctx, "whole", metav1.GetOptions{})
	if err != nil {
		return err
	}
	// Defaults may come in addition.
	if !equality.Semantic.DeepDerivative(sent.Spec, read.Spec) || !equality.Semantic.DeepEqual(made, read) {
		return fmt.Errorf("sent %v, got %v, read %v", sent, made, read)
	}
	list, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 {
		return fmt.Errorf("listed %v", list.Items)
	}
	// Items of a list may say their kind or leave it to the list.
	list.Items[0].TypeMeta = read.TypeMeta
	if !equality.Semantic.DeepEqual(&list.Items[0], read) {
		return fmt.Errorf("listed %v, read %v", list.Items, read)
	}
	did("a ConfigMap and a Deployment come back as they were sent")
	return nil
}

// next is the next event of a type, past bookmarks if those are not wanted.
func next(ctx context.Context, events watch.Interface, wanted watch.EventType) (runtime.Object, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no event %s: %w", wanted, ctx.Err())
		case event, open := <-events.ResultChan():
			if !open {
				return nil, fmt.Errorf("the watch ended before %s", wanted)
			}
			if event.Type == wanted {
				return event.Object, nil
			}
			if event.Type != watch.Bookmark {
				return nil, fmt.Errorf("%s in place of %s: %v", event.Type, wanted, event.Object)
			}
		}
	}
}

// events watches what is done.
func events(ctx context.Context, client kubernetes.Interface) error {
	maps := client.CoreV1().ConfigMaps(namespace)
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watched, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, FieldSelector: "metadata.name=watched"})
	if err != nil {
		return err
	}
	defer watched.Stop()
	object := configMap("watched")
	object.Finalizers = nil
	if object, err = maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return err
	}
	object.Data["text"] = "other"
	if object, err = maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(ctx, "watched", metav1.DeleteOptions{}); err != nil {
		return err
	}
	for _, wanted := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		event, err := next(ctx, watched, wanted)
		if err != nil {
			return err
		}
		told, ok := event.(*corev1.ConfigMap)
		if !ok || !bytes.Equal(told.BinaryData["bytes"], object.BinaryData["bytes"]) {
			return fmt.Errorf("%s tells %v", wanted, event)
		}
		if wanted == watch.Modified && !equality.Semantic.DeepEqual(told, object) {
			return fmt.Errorf("told %v, written %v", told, object)
		}
	}
	did("a watch tells what was created, changed and deleted")
	return nil
}

// scaled sets replicas by every request there is for it.
func scaled(ctx context.Context, client kubernetes.Interface) error {
	deployments := client.AppsV1().Deployments(namespace)
	scale, err := deployments.GetScale(ctx, "whole", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = 4
	if scale, err = deployments.UpdateScale(ctx, "whole", scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 4 {
		return fmt.Errorf("the scale is %v: %w", scale, err)
	}
	for replicas, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": replicas}})
		if err != nil {
			return err
		}
		patched := &autoscalingv1.Scale{}
		err = client.AppsV1().RESTClient().Patch(kind).Namespace(namespace).Resource("deployments").Name("whole").
			SubResource("scale").Body(patch).Do(ctx).Into(patched)
		if err != nil || patched.Spec.Replicas != int32(replicas) {
			return fmt.Errorf("a patch %s of the scale gives %v: %w", kind, patched, err)
		}
	}
	read, err := deployments.Get(ctx, "whole", metav1.GetOptions{})
	if err != nil || *read.Spec.Replicas != 1 {
		return fmt.Errorf("the deployment has %v: %w", read.Spec.Replicas, err)
	}
	did("a scale is updated, and patched by merge and by strategic merge")
	return nil
}

// applied goes by apply configurations.
func applied(ctx context.Context, client kubernetes.Interface) error {
	maps := client.CoreV1().ConfigMaps(namespace)
	wanted := func(data map[string]string) *coreapply.ConfigMapApplyConfiguration {
		return coreapply.ConfigMap("applied", namespace).WithData(data)
	}
	if _, err := maps.Apply(ctx, wanted(map[string]string{"a": "1", "b": "1"}), metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	_, err := maps.Apply(ctx, wanted(map[string]string{"a": "2"}), metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("a second owner is no conflict: %w", err)
	}
	if _, err = maps.Apply(ctx, wanted(map[string]string{"a": "2"}), metav1.ApplyOptions{FieldManager: "two", Force: true}); err != nil {
		return err
	}
	object, err := maps.Apply(ctx, wanted(nil), metav1.ApplyOptions{FieldManager: "one"})
	if err != nil || !equality.Semantic.DeepEqual(object.Data, map[string]string{"a": "2"}) {
		return fmt.Errorf("the owners' data are %v: %w", object, err)
	}
	did("what is applied has owners, and conflicts between them")
	return nil
}

// paged lists in pages.
func paged(ctx context.Context, client kubernetes.Interface) error {
	names, options := map[string]bool{}, metav1.ListOptions{Limit: 1}
	for pages := 0; pages == 0 || options.Continue != ""; pages++ {
		list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, options)
		if err != nil {
			return err
		}
		if len(list.Items) > 1 {
			return fmt.Errorf("a page of one has %d", len(list.Items))
		}
		for _, object := range list.Items {
			names[object.Name] = true
		}
		options.Continue = list.Continue
	}
	if !names["whole"] || !names["applied"] {
		return fmt.Errorf("the pages show %v", names)
	}
	did("a list comes in pages")
	return nil
}

// informed has a typed informer.
func informed(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	deployments := factory.Apps().V1().Deployments()
	informer := deployments.Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("the informer is not synced")
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(ctx, deployment("later"), metav1.CreateOptions{}); err != nil {
		return err
	}
	err := until(ctx, "the informer", func() error {
		_, err := deployments.Lister().Deployments(namespace).Get("later")
		return err
	})
	if err != nil {
		return err
	}
	did("a typed informer has what comes later")
	return nil
}

// aggregated reads a role that is made of others.
func aggregated(ctx context.Context, client kubernetes.Interface) error {
	return untilDid(ctx, "an aggregated role shows its rules", func() error {
		role, err := client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if resource == "configmaps" {
					return nil
				}
			}
		}
		return fmt.Errorf("no rule of view lets read ConfigMaps: %v", role.Rules)
	})
}

// untilDid waits for it to be so, and says it.
func untilDid(ctx context.Context, what string, ask func() error) error {
	if err := until(ctx, what, ask); err != nil {
		return err
	}
	did("%s", what)
	return nil
}
