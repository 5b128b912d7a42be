package snapshot

import "hash/maphash"

// table is an immutable map that shares what did not change with the table it was made from. Its keys are spread over
// shards, and only shards with changes are copied: a change costs the size of a shard and one word per shard.
// The zero table is empty.
type table[K comparable, V any] struct {
	seed   maphash.Seed
	shards []map[K]*V
	len    int
}

// perShard is how many keys a shard has on average before the table is spread wider.
const perShard = 32

func (t table[K, V]) get(key K) *V {
	if len(t.shards) == 0 {
		return nil
	}
	return t.shards[t.shard(key)][key]
}

func (t table[K, V]) shard(key K) int {
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
		t.shards = append([]map[K]*V(nil), t.shards...)
	}
	copied := make(map[int]bool, min(len(changes), len(t.shards)))
	for key, value := range changes {
		i := t.shard(key)
		if !copied[i] {
			m := make(map[K]*V, len(t.shards[i])+1)
			for k, v := range t.shards[i] {
				m[k] = v
			}
			t.shards[i], copied[i] = m, true
		}
		if _, had := t.shards[i][key]; had {
			t.len--
		}
		if value == nil {
			delete(t.shards[i], key)
			continue
		}
		t.shards[i][key] = value
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
	wide := table[K, V]{seed: maphash.MakeSeed(), shards: make([]map[K]*V, n), len: t.len}
	for _, m := range t.shards {
		for k, v := range m {
			i := wide.shard(k)
			if wide.shards[i] == nil {
				wide.shards[i] = map[K]*V{}
			}
			wide.shards[i][k] = v
		}
	}
	return wide
}
