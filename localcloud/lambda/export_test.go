package lambda

// AwaitEnd returns once the idle process that would be taken next has ended.
func (p *Pool) AwaitEnd() {
	p.mu.Lock()
	e := p.idle[len(p.idle)-1]
	p.mu.Unlock()
	<-e.exited
}
