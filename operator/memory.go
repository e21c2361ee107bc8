package operator

import (
	"sync"
)

// memory is what workers remember of IngressControllers, by name.
type memory struct {
	mu    sync.Mutex
	texts map[string]string
}

func (m *memory) get(name string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.texts[name]
	return text, ok
}

// set reports whether the text is another one than before.
func (m *memory) set(name, text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.texts[name]; ok && old == text {
		return false
	}
	if m.texts == nil {
		m.texts = map[string]string{}
	}
	m.texts[name] = text
	return true
}

func (m *memory) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.texts, name)
}

// reserve gives the domain to the IngressController unless another one has it that
// is still there, and returns which one has it. Two workers may admit two
// IngressControllers at the same time, of which neither is in the other's cache.
func (m *memory) reserve(domain, ic string, there func(string) bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if holder, ok := m.texts[domain]; ok && holder != ic && there(holder) {
		return holder
	}
	if m.texts == nil {
		m.texts = map[string]string{}
	}
	m.texts[domain] = ic
	return ic
}

// release gives up what the IngressController has reserved.
func (m *memory) release(ic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for domain, holder := range m.texts {
		if holder == ic {
			delete(m.texts, domain)
		}
	}
}
