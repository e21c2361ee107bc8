package share

// table holds values by namespace and name, for a bounded number of names. A namespace
// may add one only while it has less than a quarter as many as there is room for: the
// first to take all it can gets a fifth, the next one a fifth of what is left, so that
// there is always room for a further one.
type table[T any] struct {
	most   int
	spaces map[string]map[string]*T
	count  int
	// idle is true for what may be dropped.
	idle func(*T) bool
}

func newTable[T any](most int, idle func(*T) bool) *table[T] {
	return &table[T]{most: most, spaces: map[string]map[string]*T{}, idle: idle}
}

func (t *table[T]) get(k Key) *T { return t.spaces[k.Namespace][k.Name] }

// room is how many names a namespace may have now.
func (t *table[T]) room() int { return (t.most - t.count) / 4 }

// looks is how many values are looked at for one to drop.
const looks = 16

// add returns a new value, or nil if the namespace has no room.
func (t *table[T]) add(k Key) *T {
	space := t.spaces[k.Namespace]
	if len(space) >= t.room() {
		t.drop(k.Namespace, looks)
		if space = t.spaces[k.Namespace]; len(space) >= t.room() {
			return nil
		}
	}
	if space == nil {
		space = map[string]*T{}
		t.spaces[k.Namespace] = space
	}
	v := new(T)
	space[k.Name] = v
	t.count++
	return v
}

// drop looks at some values of a namespace and drops those that are idle.
func (t *table[T]) drop(namespace string, looks int) int {
	space := t.spaces[namespace]
	for name, v := range space {
		if looks--; looks < 0 {
			return 0
		}
		if t.idle(v) {
			delete(space, name)
			t.count--
		}
	}
	if len(space) == 0 {
		delete(t.spaces, namespace)
	}
	return looks
}

// sweep looks at some values of all namespaces: a map begins anywhere.
func (t *table[T]) sweep(looks int) {
	for namespace := range t.spaces {
		if looks = t.drop(namespace, looks); looks <= 0 {
			return
		}
	}
}
