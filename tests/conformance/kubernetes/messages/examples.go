package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"reflect"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// example is an object of random fields as Go writes it, and, on its way back, as another program wrote and read it.
type example struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	JSON       json.RawMessage `json:"json"`
	Protobuf   []byte          `json:"protobuf"`
	// As Go wrote it.
	Original []byte `json:"original,omitempty"`
}

// message is what every type with a message can do.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// write writes count examples of each kind.
func write(seed int64, count int) error {
	filler := randfill.New().NilChance(.4).NumElements(0, 3).MaxDepth(12).RandSource(rand.NewSource(seed))
	filler.Funcs(metafuzzer.Funcs(scheme.Codecs)...)
	filler.Funcs(
		func(t *metav1.MicroTime, c randfill.Continue) {
			t.Time = time.Unix(c.Int63n(1e10)+1, c.Int63n(1e6)*1000).UTC()
		},
		func(f *metav1.FieldsV1, c randfill.Continue) { f.Raw = []byte(`{"f:spec":{".":{},"f:a":{}}}`) },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(1e9), resource.DecimalSI)
		},
		func(i *intstr.IntOrString, c randfill.Continue) {
			if *i = intstr.FromInt32(c.Int31()); c.Bool() {
				*i = intstr.FromString(c.String(0))
			}
		},
	)
	out := bufio.NewWriter(os.Stdout)
	lines := json.NewEncoder(out)
	for _, group := range kinds {
		for _, kind := range group.types {
			for range count {
				object := reflect.New(reflect.TypeOf(kind))
				filler.Fill(object.Interface())
				made := example{APIVersion: strings.Replace(group.version, "*", "v1", 1), Kind: object.Elem().Type().Name()}
				if list, is := object.Interface().(*metav1.ListMeta); is {
					list.SelfLink = ""
				}
				if typed, is := object.Interface().(runtime.Object); is {
					// They are no part of the message.
					typed.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(""))
				}
				raw, err := object.Interface().(message).Marshal()
				if err != nil {
					return err
				}
				text, err := json.Marshal(object.Interface())
				if err != nil {
					return err
				}
				made.JSON, made.Protobuf = text, raw
				if err := lines.Encode(made); err != nil {
					return err
				}
			}
		}
	}
	return out.Flush()
}

// compare reads examples that another program wrote in protobuf and read as JSON, and tells those that are another object now.
func compare() error {
	types := map[string]reflect.Type{}
	for _, group := range kinds {
		for _, kind := range group.types {
			t := reflect.TypeOf(kind)
			types[strings.Replace(group.version, "*", "v1", 1)+" "+t.Name()] = t
		}
	}
	lines := json.NewDecoder(os.Stdin)
	count, differing := 0, 0
	for {
		var given example
		if err := lines.Decode(&given); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		count++
		t := types[given.APIVersion+" "+given.Kind]
		original, written, read := reflect.New(t).Interface(), reflect.New(t).Interface(), reflect.New(t).Interface()
		if err := original.(message).Unmarshal(given.Original); err != nil {
			return err
		}
		if err := written.(message).Unmarshal(given.Protobuf); err != nil {
			return fmt.Errorf("%s %s: %w", given.APIVersion, given.Kind, err)
		}
		if err := json.NewDecoder(bytes.NewReader(given.JSON)).Decode(read); err != nil {
			return fmt.Errorf("%s %s: %w: %s", given.APIVersion, given.Kind, err, given.JSON)
		}
		for _, object := range []any{original, read} {
			if typed, is := object.(runtime.Object); is {
				typed.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(""))
			}
		}
		if typed, is := written.(runtime.Object); is {
			typed.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(""))
		}
		for what, have := range map[string]any{"written": written, "read": read} {
			if !apiequality.Semantic.DeepEqual(original, have) {
				differing++
				wanted, _ := json.Marshal(original)
				got, _ := json.Marshal(have)
				fmt.Printf("%s %s, %s:\n  %s\n  %s\n", given.APIVersion, given.Kind, what, wanted, got)
			}
		}
	}
	if count == 0 {
		return errors.New("no examples")
	}
	if differing > 0 {
		return fmt.Errorf("%d of %d objects are other ones now", differing, count)
	}
	fmt.Printf("%d objects\n", count)
	return nil
}
