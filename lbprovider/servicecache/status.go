package servicecache

import (
	"fmt"
	"hash/maphash"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

// Status is what is kept of a ServiceL2Status or ServiceBGPStatus: what it takes
// to find it, to see whether it is as it should be, and to write or delete it.
type Status struct {
	// Name is the object's, and Version its resourceVersion.
	Name, Version string
	// Node and Service are what the object is about, by its labels.
	Node    string
	Service Name
	// ReportedNode is the node that the status names; empty if it names none.
	ReportedNode string
	// Mismatched says that the status names another node or Service than the labels.
	// It can never be put right: those fields are immutable.
	Mismatched bool
	// hash stands for the contents of the status.
	hash uint64
}

// key leaves out the namespace, which all have in common.
func (s *Status) key() Name     { return Name{Name: s.Name} }
func (s *Status) service() Name { return s.Service }

// Statuses are the status objects of one kind in the provider's namespace. All
// methods may be called concurrently.
type Statuses struct {
	watches
	records *statusRecords
}

// NewL2Statuses returns the ServiceL2Status objects of all nodes. They are not
// known until Run is called.
func NewL2Statuses(opts Options, namespace string) (*Statuses, error) {
	return newStatuses(opts, kind{name: "ServiceL2Status", resource: "servicel2statuses", namespace: namespace, object: &v1beta1.ServiceL2Status{}})
}

// NewBGPStatuses returns the ServiceBGPStatus objects of a node. They are not
// known until Run is called.
func NewBGPStatuses(opts Options, namespace, node string) (*Statuses, error) {
	return newStatuses(opts, kind{
		name: "ServiceBGPStatus", resource: "servicebgpstatuses", namespace: namespace, object: &v1beta1.ServiceBGPStatus{},
		labels: v1beta1.LabelNode + "=" + node,
	})
}

func newStatuses(opts Options, k kind) (*Statuses, error) {
	s := &Statuses{records: newStatusRecords()}
	k.version, k.into = v1beta1.GroupVersion(), s.records
	return s, s.add(opts, k)
}

// ForService returns the objects about a Service.
func (s *Statuses) ForService(service Name) []*Status { return s.records.forService(service) }

// All returns all objects.
func (s *Statuses) All() []*Status { return s.records.all() }

// Matches says whether the object has the status of o, as far as
// status objects of this kind.
func (s *Statuses) Matches(is *Status, o client.Object) bool { return s.records.hash(o) == is.hash }

// statusRecords is what is kept of status objects.
type statusRecords struct {
	byService[*Status]
	texts internedStrings
	seed  maphash.Seed
}

func newStatusRecords() *statusRecords {
	return &statusRecords{byService: newByService[*Status](), texts: internedStrings{}, seed: maphash.MakeSeed()}
}

func (s *statusRecords) read(object any) (any, error) {
	if read, done := object.(*Status); done {
		return read, nil
	}
	var node, name, namespace string
	switch o := object.(type) {
	case *v1beta1.ServiceL2Status:
		node, name, namespace = o.Status.Node, o.Status.ServiceName, o.Status.ServiceNamespace
	case *v1beta1.ServiceBGPStatus:
		node, name, namespace = o.Status.Node, o.Status.ServiceName, o.Status.ServiceNamespace
	default:
		return nil, fmt.Errorf("read a status object: it is a %T", object)
	}
	o := object.(client.Object) //nolint:forcetypeassert // by the types above
	labels := o.GetLabels()
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Status{
		Name: o.GetName(), Version: o.GetResourceVersion(), Node: s.texts.intern(labels[v1beta1.LabelNode]),
		Service:      Name{Namespace: s.texts.intern(labels[v1beta1.LabelServiceNamespace]), Name: labels[v1beta1.LabelServiceName]},
		ReportedNode: s.texts.intern(node),
		Mismatched: differs(node, labels[v1beta1.LabelNode]) || differs(name, labels[v1beta1.LabelServiceName]) ||
			differs(namespace, labels[v1beta1.LabelServiceNamespace]),
		hash: s.hash(o),
	}, nil
}

// differs says whether a field that cannot be changed back has a wrong value.
func differs(is, want string) bool { return is != "" && is != want }

// hash returns a number that two objects have in common only if they have the
// same status: that they have by chance is as likely as 1 in 10^19.
func (s *statusRecords) hash(object client.Object) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	write := func(texts ...string) {
		for _, text := range texts {
			_, _ = h.WriteString(text) // it cannot fail
			_ = h.WriteByte(0)
		}
		_ = h.WriteByte(1) // the end of a list
	}
	switch o := object.(type) {
	case *v1beta1.ServiceL2Status:
		write(o.Status.Node, o.Status.ServiceName, o.Status.ServiceNamespace)
		write(o.Status.Addresses...)
		for _, i := range o.Status.Interfaces {
			_, _ = h.WriteString(i.Name)
			_ = h.WriteByte(0)
		}
		write()
		if since := o.Status.Since; since != nil {
			write(strconv.FormatInt(since.Unix(), 10))
		}
	case *v1beta1.ServiceBGPStatus:
		write(o.Status.Node, o.Status.ServiceName, o.Status.ServiceNamespace)
		write(o.Status.Peers...)
	}
	return h.Sum64()
}
