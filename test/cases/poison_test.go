package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// refuser is a HAProxy that refuses files with a backend of a route named
// "poison", as a real one would refuse something that nobody has thought of.
const refuser = `#!/bin/sh
for file; do :; done
case "$1" in
-v|-vv) ;;
*)
	n=$(grep -n ':poison:' "$file" | head -n 1 | cut -d: -f1)
	if [ -n "$n" ]; then
		echo "[ALERT]    (1) : config : parsing [$file:$n] : a line that only this test refuses." >&2
		exit 1
	fi
	;;
esac
exec %s "$@"
`

// TestPoisonedBoot starts a router on a set of routes of which HAProxy refuses
// one. It is found and left out, and all others are served.
func TestPoisonedBoot(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			b := newBed(t, version, newMemory())
			script := filepath.Join(b.layout.Dir, "refuser")
			if err := os.WriteFile(script, fmt.Appendf(nil, refuser, b.binary), 0o700); err != nil {
				t.Fatal(err)
			}
			b.binary = script
			ch := sampleChange(t)
			var s step
			if err := s.objects(strings.TrimSpace(`
kind: Route
metadata: {namespace: f, name: poison}
spec: {host: poison.f.test, to: {kind: Service, name: web}}
`)); err != nil {
				t.Fatal(err)
			}
			for _, o := range ch.put {
				ensurePods(t, o)
			}
			b.cluster.apply(ch)
			b.cluster.apply(s.change)
			b.start()
			k := newCore(t)
			k.apply(ch)
			b.serves(k, sampleRequests)
			b.eventually("the refused route is told", func() error {
				st, _ := b.statusOf(model.Key{Namespace: "f", Name: "poison"})
				if st.Admitted || st.Reason != api.ReasonRefusedByHAProxy {
					return fmt.Errorf("status %+v", st)
				}
				return nil
			})
			if n := b.reloads(); n != 0 {
				t.Errorf("%d reloads", n)
			}
		})
	}
}
