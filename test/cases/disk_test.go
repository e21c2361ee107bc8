package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// smallDisk gives a bed's work directory a disk of its own, with room for two of HAProxy's
// files at a time.
func (b *bed) smallDisk(t *testing.T) {
	t.Helper()
	if err := syscall.Mount("tmpfs", b.layout.Dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		b.stop()
		_ = syscall.Unmount(b.layout.Dir, syscall.MNT_DETACH)
	})
}

// fill leaves no room on the bed's disk, and returns what makes room again.
func (b *bed) fill(t *testing.T) (free func()) {
	t.Helper()
	path := filepath.Join(b.layout.Dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = os.Remove(path) }
}

// stale waits until the router says whether it can write HAProxy's files.
func (b *bed) stale(want bool) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("files that cannot be written: %v", want), func() error {
		f := b.failure.Load()
		if b.gauge("fairlead_router_files_stale") == 1 != want || (f != nil) != want || want && f.Reason != api.ReasonFilesNotWritten {
			return fmt.Errorf("finding %v, metric %v", f, b.gauge("fairlead_router_files_stale"))
		}
		return nil
	})
}

// TestFullDisk: a full disk is told, and what HAProxy serves goes on, with all
// changes that need no file. Once there is room, the rest follows.
func TestFullDisk(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.smallDisk(t)
		k := newCore(t)
		ch := sampleChange(t)
		b.start()
		b.apply(ch)
		k.apply(ch)
		b.serves(k, sampleRequests)
		pid, free := b.pid(), b.fill(t)

		another := objectsChange(t, `
kind: Route
metadata: {namespace: f, name: another}
spec: {host: another.f.test, to: {kind: Service, name: web}}
`)
		requests := append([]string{"GET http://another.f.test/ -> 200 pod=a|b"}, sampleRequests...)
		for _, o := range another.put {
			ensurePods(t, o)
		}
		b.cluster.apply(another)
		k.apply(another)
		if b.caps.DynamicBackends {
			b.serves(k, requests)
		}
		b.stale(true)
		if n := b.count("fairlead_router_write_failures_total"); n == 0 {
			t.Error("no failed write was counted")
		}
		b.serves(k, sampleRequests)
		if !b.engine.Ready() || b.pid() != pid {
			t.Errorf("ready %v, worker %d became %d", b.engine.Ready(), pid, b.pid())
		}
		free()
		b.stale(false)
		b.serves(k, requests)
		b.stop()
		b.start()
		b.serves(k, requests)
	})
}

// TestFullDiskAtStart: a router that starts on a full disk waits for room, and
// blames neither routes nor settings.
func TestFullDiskAtStart(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.smallDisk(t)
		ch := sampleChange(t)
		for _, o := range ch.put {
			ensurePods(t, o)
		}
		b.cluster.apply(ch)
		k := newCore(t)
		k.apply(ch)
		if err := os.MkdirAll(b.layout.RunDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		free := b.fill(t)
		b.startSupervisor()
		b.startEngine()
		b.stale(true)
		free()
		b.waitReady()
		b.stale(false)
		b.serves(k, sampleRequests)
		if f := b.refusal.Load(); f != nil {
			t.Errorf("the settings are blamed: %v", f)
		}
		if st, _ := b.statusOf(parseObject("Route", "f/edge")); !st.Admitted {
			t.Errorf("a route is blamed: %+v", st)
		}
	})
}

// TestFullDiskAndSettings: settings that need a reload wait for room, and hold up
// no route meanwhile.
func TestFullDiskAndSettings(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.smallDisk(t)
	b.controller.Store(&operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "cases"}})
	k := newCore(t)
	ch := sampleChange(t)
	b.start()
	b.apply(ch)
	k.apply(ch)
	b.serves(k, sampleRequests)
	pid, free := b.pid(), b.fill(t)
	b.configure(func(s *operatorv1.IngressControllerSpec) {
		s.TuningOptions.ClientTimeout = &metav1.Duration{Duration: 47 * time.Second}
	})
	b.stale(true)
	another := objectsChange(t, `
kind: Route
metadata: {namespace: f, name: another}
spec: {host: another.f.test, to: {kind: Service, name: web}}
`)
	b.apply(another)
	k.apply(another)
	b.serves(k, append([]string{"GET http://another.f.test/ -> 200 pod=a|b"}, sampleRequests...))
	if b.reloads() != 0 || b.pid() != pid || !b.engine.Ready() {
		t.Errorf("%d reloads, worker %d became %d, ready %v", b.reloads(), pid, b.pid(), b.engine.Ready())
	}
	free()
	b.stale(false)
	b.eventually("the settings are used", func() error {
		if n := b.reasons()["spec.tuningOptions.clientTimeout"]; n != 1 {
			return fmt.Errorf("reloads %v", b.reasons())
		}
		return nil
	})
	b.serves(k, sampleRequests)
}
