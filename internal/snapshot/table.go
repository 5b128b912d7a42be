package snapshot

import "hash/maphash"

// table is an immutable map that shares what did not change with the table it was made from. Its keys are spread over
// shards, and only shards with changes are copied: a change costs the size of a shard and one word per shard.
// The zero table is empty.
type table[K comparable, V any] struct {
	seed   maphash.Seed
	shards []*shard[K, V] // nil for one that is empty
	len    int
}

// shard is behind a pointer so that one which is shared can be told.
type shard[K comparable, V any] struct{ values map[K]*V }

func (s *shard[K, V]) get(key K) *V {
	if s == nil {
		return nil
	}
	return s.values[key]
}

// each calls f for every key.
func (s *shard[K, V]) each(f func(K, *V)) {
	if s == nil {
		return
	}
	for k, v := range s.values {
		f(k, v)
	}
}

// perShard is how many keys a shard has on average before the table is spread wider.
const perShard = 32

func (t table[K, V]) get(key K) *V {
	if len(t.shards) == 0 {
		return nil
	}
	return t.shards[t.at(key)].get(key)
}

func (t table[K, V]) at(key K) int {
	return int(maphash.Comparable(t.seed, key) & uint64(len(t.shards)-1))
}

// with makes the table in which each key has the given value; nil removes the key.
func (t table[K, V]) with(changes map[K]*V) table[K, V] {
	if len(changes) == 0 {
		return t
	}
	if len(t.shards) == 0 || t.len+len(changes) > 2*perShard*len(t.shards) {
		t = t.spread(t.len + len(changes))
	} else {
		t.shards = append([]*shard[K, V](nil), t.shards...)
	}
	copied := make(map[int]bool, min(len(changes), len(t.shards)))
	for key, value := range changes {
		i := t.at(key)
		if !copied[i] {
			copied[i] = true
			old := t.shards[i]
			size := 1
			if old != nil {
				size += len(old.values)
			}
			t.shards[i] = &shard[K, V]{make(map[K]*V, size)}
			old.each(func(k K, v *V) { t.shards[i].values[k] = v })
		}
		values := t.shards[i].values
		if _, had := values[key]; had {
			t.len--
		}
		if value == nil {
			delete(values, key)
			continue
		}
		values[key] = value
		t.len++
	}
	return t
}

// spread makes an equal table with room for size keys.
func (t table[K, V]) spread(size int) table[K, V] {
	n := 1
	for n*perShard < size {
		n *= 2
	}
	wide := table[K, V]{seed: maphash.MakeSeed(), shards: make([]*shard[K, V], n), len: t.len}
	for _, s := range t.shards {
		s.each(func(k K, v *V) {
			i := wide.at(k)
			if wide.shards[i] == nil {
				wide.shards[i] = &shard[K, V]{map[K]*V{}}
			}
			wide.shards[i].values[k] = v
		})
	}
	return wide
}

// since calls f for each key whose value is not the one it was in an older table. What both share is passed over, so
// that its cost is a word per shard, and the shards that differ.
func (t table[K, V]) since(old table[K, V], f func(key K, was, is *V)) {
	if t.seed == old.seed && len(t.shards) == len(old.shards) {
		for i, s := range t.shards {
			if s != old.shards[i] {
				s.since(old.shards[i], f)
			}
		}
		return
	}
	for _, s := range t.shards {
		s.each(func(k K, v *V) {
			if was := old.get(k); was != v {
				f(k, was, v)
			}
		})
	}
	for _, s := range old.shards {
		s.each(func(k K, v *V) {
			if t.get(k) == nil {
				f(k, v, nil)
			}
		})
	}
}

func (s *shard[K, V]) since(old *shard[K, V], f func(key K, was, is *V)) {
	s.each(func(k K, v *V) {
		if was := old.get(k); was != v {
			f(k, was, v)
		}
	})
	old.each(func(k K, v *V) {
		if s.get(k) == nil {
			f(k, v, nil)
		}
	})
}

// same reports whether two tables were made of each other by no change at all.
func (t table[K, V]) same(old table[K, V]) bool {
	return len(t.shards) == len(old.shards) && (len(t.shards) == 0 || &t.shards[0] == &old.shards[0])
}
