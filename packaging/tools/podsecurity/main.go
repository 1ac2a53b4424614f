// podsecurity reads manifests from its standard input, as `helm template` writes them, and fails if one does not decode
// strictly as its kind, or if a pod of it breaks the level "restricted" of Kubernetes' pod security standards. The rules are
// those of the admission plugin itself. Its arguments are the reasons, in the plugin's words, for which a pod may be forbidden
// all the same: what it cannot work without.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func main() {
	if err := check(os.Stdin, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func check(manifests io.Reader, exceptions []string) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	reader := yaml.NewYAMLReader(bufio.NewReader(manifests))
	pods := 0
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		object, kind, err := decoder.Decode(document, nil, nil)
		if runtime.IsMissingKind(err) {
			// Comments only.
			continue
		}
		if err != nil {
			return err
		}
		var template *corev1.PodTemplateSpec
		switch object := object.(type) {
		case *appsv1.Deployment:
			template = &object.Spec.Template
		case *appsv1.DaemonSet:
			template = &object.Spec.Template
		case *batchv1.Job:
			template = &object.Spec.Template
		case *corev1.Pod:
			template = &corev1.PodTemplateSpec{ObjectMeta: object.ObjectMeta, Spec: object.Spec}
		default:
			fmt.Println(kind.Kind, "decoded")
			continue
		}
		pods++
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
		for _, reason := range result.ForbiddenReasons {
			if !slices.Contains(exceptions, reason) {
				return fmt.Errorf("%s: %s", kind.Kind, result.ForbiddenDetail())
			}
		}
		if result.Allowed {
			fmt.Println(kind.Kind, "allowed by the level restricted")
		} else {
			fmt.Println(kind.Kind, "allowed by the level restricted but for:", result.ForbiddenReason())
		}
	}
	if pods == 0 {
		return errors.New("no pods in the manifests")
	}
	return nil
}
