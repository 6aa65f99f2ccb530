// Command messages writes how the kinds that a standalone Berth serves look in protobuf, read from the tags of their Go types:
// apiserver/kubernetes/src/protobuf/messages.txt, whose reader says how it is written.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// kinds are the served ones by apiVersion; * is every one.
var kinds = []struct {
	version string
	types   []any
}{
	{"*", []any{metav1.DeleteOptions{}}},
	{"meta.k8s.io/v1", []any{metav1.ListMeta{}, metav1.PartialObjectMetadata{}}},
	{"meta.k8s.io/v1beta1", []any{metav1.PartialObjectMetadata{}}},
	{"admissionregistration.k8s.io/v1", []any{
		admissionregistrationv1.MutatingAdmissionPolicy{}, admissionregistrationv1.MutatingAdmissionPolicyBinding{},
		admissionregistrationv1.ValidatingAdmissionPolicy{}, admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
	}},
	{"admissionregistration.k8s.io/v1beta1", []any{
		admissionregistrationv1beta1.MutatingAdmissionPolicy{}, admissionregistrationv1beta1.MutatingAdmissionPolicyBinding{},
	}},
	{"apps/v1", []any{appsv1.Deployment{}, appsv1.StatefulSet{}}},
	{"authentication.k8s.io/v1", []any{authenticationv1.SelfSubjectReview{}, authenticationv1.TokenReview{}}},
	{"authorization.k8s.io/v1", []any{
		authorizationv1.LocalSubjectAccessReview{}, authorizationv1.SelfSubjectAccessReview{},
		authorizationv1.SelfSubjectRulesReview{}, authorizationv1.SubjectAccessReview{},
	}},
	{"autoscaling/v1", []any{autoscalingv1.Scale{}}},
	{"batch/v1", []any{batchv1.Job{}}},
	{"coordination.k8s.io/v1", []any{coordinationv1.Lease{}}},
	{"events.k8s.io/v1", []any{eventsv1.Event{}}},
	{"rbac.authorization.k8s.io/v1", []any{
		rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{}, rbacv1.Role{}, rbacv1.RoleBinding{},
	}},
	{"v1", []any{
		corev1.ConfigMap{}, corev1.Event{}, corev1.Namespace{}, corev1.ResourceQuota{}, corev1.Secret{},
		corev1.Service{}, corev1.ServiceAccount{}, metav1.Status{},
	}},
}

// scalars are the messages that JSON has as something else.
var scalars = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():        "time",
	reflect.TypeFor[metav1.MicroTime]():   "microTime",
	reflect.TypeFor[metav1.FieldsV1]():    "json",
	reflect.TypeFor[resource.Quantity]():  "quantity",
	reflect.TypeFor[intstr.IntOrString](): "intOrString",
}

// messages are the ones that were met, by their names.
var messages = map[string]reflect.Type{}

func main() {
	examples := flag.Int("examples", 0, "write so many objects of random fields of each kind instead")
	seed := flag.Int64("seed", 1, "the seed of their fields")
	comparing := flag.Bool("compare", false, "read such objects, and compare them with what they were")
	flag.Parse()
	err := error(nil)
	switch {
	case *comparing:
		err = compare()
	case *examples > 0:
		err = write(*seed, *examples)
	default:
		err = table()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table writes the messages.
func table() error {
	roots := map[string][]string{}
	for _, group := range kinds {
		for _, kind := range group.types {
			t := reflect.TypeOf(kind)
			name := note(t)
			roots[name] = append(roots[name], group.version+" "+t.Name())
		}
	}
	written := map[string]string{}
	for len(written) < len(messages) {
		for name, t := range messages {
			if _, done := written[name]; !done {
				written[name] = fields(t)
			}
		}
	}
	names := make([]string, 0, len(written))
	for name := range written {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	for _, name := range names {
		fmt.Fprint(out, name)
		for _, root := range roots[name] {
			fmt.Fprintf(out, " = %s", root)
		}
		fmt.Fprintf(out, "\n%s", written[name])
	}
	return out.Flush()
}

// note remembers a message and gives its name: the last two steps of its package, and its own.
func note(t reflect.Type) string {
	steps := strings.Split(t.PkgPath(), "/")
	name := strings.Join(steps[len(steps)-2:], "/") + "." + t.Name()
	messages[name] = t
	return name
}

// fields are a message's, in the order of their numbers: number, name in JSON, form.
func fields(t reflect.Type) string {
	lines := map[int]string{}
	var numbers []int
	for i := range t.NumField() {
		field := t.Field(i)
		tag, has := field.Tag.Lookup("protobuf")
		if !has {
			continue
		}
		number, err := strconv.Atoi(strings.Split(tag, ",")[1])
		if err != nil {
			panic(fmt.Sprintf("%s.%s: %s", t, field.Name, tag))
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inline := name == "" && strings.Contains(options, "inline")
		if name == "" && !inline || name == "-" {
			panic(fmt.Sprintf("%s.%s has no name in JSON", t, field.Name))
		}
		of := form(field.Type)
		if inline {
			name, of = "-", "<"+of
		}
		lines[number] = fmt.Sprintf(" %d %s %s\n", number, name, of)
		numbers = append(numbers, number)
	}
	sort.Ints(numbers)
	var out strings.Builder
	for _, number := range numbers {
		out.WriteString(lines[number])
	}
	return out.String()
}

// form is that of a value: [] of a list, {} of a map by texts, * where nothing is something else than zero.
func form(t reflect.Type) string {
	if name, is := scalars[t]; is {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + form(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "flag"
	case reflect.Int32, reflect.Int64:
		return "number"
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return "{}" + form(t.Elem())
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		// A named list of texts that is no field's own is a message of its own (ExtraValue).
		if t == reflect.TypeFor[authorizationv1.ExtraValue]() || t == reflect.TypeFor[authenticationv1.ExtraValue]() {
			return "texts"
		}
		return "[]" + form(t.Elem())
	case reflect.Struct:
		return note(t)
	}
	panic(fmt.Sprintf("%s has no form", t))
}
