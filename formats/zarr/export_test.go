package zarr

// Held is how many bytes of chunks a pass keeps.
func (p *Pass) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held.Cost()
}
