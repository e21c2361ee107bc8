package pipeline

import (
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// What one backend brings to the wanted state goes with it.

func (p *Pipeline) dropBackend(b *model.Backend, scope *plan.Scope) {
	name := b.Name()
	scope.Backends[name] = struct{}{}
	delete(p.want.Backends, name)
	p.probes.drop(b)
	p.outliers.drop(b)
	for _, a := range b.Policy().AgentParts() {
		p.agent.use(a, -1)
	}
	for e := range plan.PolicyEntries(b) {
		scope.Entries[e] = struct{}{}
		delete(p.want.Entries, e)
	}
	p.usePages(b.Policy().Pages, -1, scope)
	if b.CA != nil {
		p.useCA(b.CA, -1, scope)
	}
	p.showPods(b.Policy().ClientCertificate, false, scope)
}

func (p *Pipeline) addBackend(b *model.Backend, scope *plan.Scope) {
	name := b.Name()
	scope.Backends[name] = struct{}{}
	p.probes.add(b)
	p.outliers.add(b)
	p.want.Backends[name] = p.wantBackend(b)
	for _, a := range b.Policy().AgentParts() {
		p.agent.use(a, 1)
	}
	for e, v := range plan.PolicyEntries(b) {
		scope.Entries[e] = struct{}{}
		p.want.Entries[e] = v
	}
	p.usePages(b.Policy().Pages, 1, scope)
	if b.CA != nil {
		p.useCA(b.CA, 1, scope)
	}
	p.showPods(b.Policy().ClientCertificate, true, scope)
}
