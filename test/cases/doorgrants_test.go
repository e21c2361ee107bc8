package cases

import (
	"fmt"
	"regexp"
	"testing"
)

// elsewhere is the namespace that has the door's Secrets, too.
func (d *closedDoor) elsewhere() string { return "elsewhere-" + d.name }

// ofElsewhere is the policy that names the door's first Secret in the other namespace.
func (d *closedDoor) ofElsewhere() string {
	if d.secret == "" {
		return ""
	}
	return d.policy("door", regexp.MustCompile(`([:\[] ?)`+d.secret+`\b`).ReplaceAllString(d.spec, "${1}"+d.elsewhere()+"/"+d.secret))
}

// putElsewhere copies the Secrets of the doors into other namespaces.
func (b *doorsBed) putElsewhere() {
	var all change
	for i := range b.doors {
		for _, o := range b.doors[i].allSecrets() {
			o.SetNamespace(b.doors[i].elsewhere())
			all.put = append(all.put, o)
		}
	}
	b.apply(all)
}

func (b *doorsBed) grantElsewhere(t *testing.T, kind string) {
	b.each(t, func(d *closedDoor) string {
		return fmt.Sprintf("kind: ReferenceGrant\nmetadata: {namespace: %s, name: door}\nspec: {from: [{group: fairlead.dev, kind: %s, namespace: %s}], to: [{group: \"\", kind: Secret}]}", d.elsewhere(), kind, d.namespace())
	})
}

// grantFaults are about Secrets of other namespaces.
func grantFaults() []fault {
	end := func(t *testing.T, b *doorsBed) {
		b.remove(func(d *closedDoor) string { return "ReferenceGrant " + d.elsewhere() + "/door" })
		asMeant(t, b)
	}
	return []fault{
		{
			name: "the Secret is of another namespace, whose grant is for others", end: end,
			do: func(t *testing.T, b *doorsBed) {
				b.putElsewhere()
				b.grantElsewhere(t, "Route")
				b.each(t, (*closedDoor).ofElsewhere)
			},
		},
		{
			name: "the grant of another namespace is withdrawn", end: end,
			do: func(t *testing.T, b *doorsBed) {
				b.putElsewhere()
				b.grantElsewhere(t, "RoutePolicy")
				b.each(t, (*closedDoor).ofElsewhere)
				b.open("with a Secret of another namespace")
				b.remove(func(d *closedDoor) string { return "ReferenceGrant " + d.elsewhere() + "/door" })
			},
		},
	}
}
