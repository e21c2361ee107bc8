package collect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/bundle"
	"github.com/fairlead/fairlead/check/preflight"
	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/inspect/cluster"
	"github.com/fairlead/fairlead/router/routerpods"
)

const (
	// The end of each log is read.
	logLines, logBytes = 10000, 4 << 20
	// answerBytes bounds the page of one pod.
	answerBytes = 8 << 20
	// answerTime bounds the question to one pod.
	answerTime = 15 * time.Second
	// accessLog is the container that writes requests: addresses of clients, paths and queries.
	accessLog = "logs"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// judgements are what status and preflight say.
func (b *bundler) judgements(ctx context.Context) error {
	b.options.Progress("judge the cluster as status and preflight do")
	if err := ctx.Err(); err != nil {
		b.unread("what status and preflight say", err)
		return nil
	}
	snapshot, err := Read(ctx, b.config, Options{Namespace: b.options.Own, Now: b.options.Now, WithoutSecrets: true})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		b.unread("what status says", err)
	} else {
		report := check.Judge(snapshot)
		if err := b.judgement("status", report, func(w io.Writer) error { return report.Screen(w, check.Style{}) }); err != nil {
			return err
		}
	}
	facts, err := Preflight(ctx, b.config)
	if err == nil {
		err = ctx.Err() // what was not read in time is no judgement
	}
	if err != nil {
		b.unread("what preflight says", err)
		return nil
	}
	report := preflight.Judge(facts)
	return b.judgement("preflight", report, report.Text)
}

// judgement writes an answer as text and as data.
func (b *bundler) judgement(name string, data any, text func(io.Writer) error) error {
	var out bytes.Buffer
	if err := text(&out); err != nil {
		return err
	}
	if err := b.add(name+".txt", out.String()); err != nil {
		return err
	}
	return b.addData(name+".json", data)
}

// logs reads the ends of the logs of Fairlead's pods.
func (b *bundler) logs(ctx context.Context) error {
	for _, namespace := range []string{api.OperatorNamespace, api.OperandNamespace, api.ProviderNamespace, api.CanaryNamespace} {
		b.options.Progress("read logs of namespace " + namespace)
		pods, err := b.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			b.unread("logs of namespace "+namespace, err)
			continue
		}
		for i := range pods.Items {
			if err := b.podLogs(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bundler) podLogs(ctx context.Context, pod *corev1.Pod) error {
	restarted := map[string]bool{}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		restarted[s.Name] = s.RestartCount > 0
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == accessLog {
			continue
		}
		for _, previous := range []bool{false, true} {
			if previous && !restarted[c.Name] {
				continue
			}
			name := c.Name + ".log"
			if previous {
				name = c.Name + ".previous.log"
			}
			text, err := b.log(ctx, pod, c.Name, previous)
			if err != nil {
				b.unread("the log of container "+c.Name+" of pod "+pod.Namespace+"/"+pod.Name, err)
				continue
			}
			if err := b.add(bundle.Path("logs", pod.Namespace, pod.Name, name), text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bundler) log(ctx context.Context, pod *corev1.Pod, container string, previous bool) (string, error) {
	lines, most := int64(logLines), int64(logBytes)
	stream, err := b.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: &lines, LimitBytes: &most, Timestamps: true,
	}).Stream(ctx)
	if err != nil {
		return "", err //nolint:wrapcheck // the caller says what it was about
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, logBytes))
	return string(text), err //nolint:wrapcheck // the caller says what it was about
}

// routers asks the routers for their metrics.
func (b *bundler) routers(ctx context.Context) error {
	b.options.Progress("ask the routers for their metrics")
	deployments, err := b.client.AppsV1().Deployments(api.OperandNamespace).List(ctx, metav1.ListOptions{LabelSelector: api.LabelOwningIngressController})
	if err != nil {
		b.unread("metrics of routers", err)
		return nil
	}
	for i := range deployments.Items {
		router := deployments.Items[i].Labels[api.LabelOwningIngressController]
		replicas, err := routerpods.New(b.config, router, routerpods.Account{
			Name: api.ViewerServiceAccount, What: "their metrics",
			Grant: "kubectl create rolebinding fairlead-viewer-USER --role fairlead-viewer --user USER -n " + api.OperandNamespace,
		})
		if err != nil {
			return err //nolint:wrapcheck // it says what
		}
		pods, err := replicas.Ready(ctx)
		if err != nil {
			b.unread("metrics of router "+router, err)
			continue
		}
		for _, pod := range pods {
			text, err := metricsOf(ctx, replicas, pod)
			if err != nil {
				b.unread("metrics of pod "+pod.Name, err)
				continue
			}
			if err := b.add(bundle.Path("routers", pod.Name, "metrics.txt"), text); err != nil {
				return err
			}
		}
	}
	return nil
}

func metricsOf(ctx context.Context, replicas *routerpods.Replicas, pod *corev1.Pod) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	page, err := replicas.Get(ctx, pod, "/metrics")
	if err != nil {
		return "", err //nolint:wrapcheck // it says what
	}
	defer page.Close()
	text, err := io.ReadAll(io.LimitReader(page, answerBytes))
	return string(text), err //nolint:wrapcheck // the caller says what it was about
}

// speakers asks the speakers what they announce.
func (b *bundler) speakers(ctx context.Context) error {
	b.options.Progress("ask the speakers what they announce")
	pods, err := b.client.CoreV1().Pods(api.ProviderNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=speaker"})
	if err != nil {
		b.unread("what speakers say", err)
		return nil
	}
	o := &inspect.Objects{Speakers: pods.Items, Reported: map[string][]inspect.Row{}, Unreachable: map[string]string{}}
	cluster.Ask(ctx, b.config, o)
	for _, node := range sortedKeys(o.Unreachable) {
		b.unread("what the speaker of node "+node+" says", errors.New(o.Unreachable[node]))
	}
	for _, node := range sortedKeys(o.Reported) {
		if err := b.addData(bundle.Path("speakers", node+".json"), o.Reported[node]); err != nil {
			return err
		}
	}
	return nil
}
