package resource

// Live counts the resources of a pool that somebody refers to, each content once, and their bytes. What is being made at
// the moment is not among them.
func (p *Pool) Live() (resources, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := make(map[*Resource]struct{}, len(p.entries))
	for _, e := range p.entries {
		if e.users > 0 {
			continue // see sweep
		}
		if r := e.made.Value(); r != nil {
			if _, ok := seen[r]; !ok {
				seen[r] = struct{}{}
				bytes += r.frame.Len()
			}
		}
	}
	return len(seen), bytes
}
