package gulp

// runs is an order of blocks: runs of neighbours, shuffled over the dataset, whose samples
// mix within windows. It is computed, as a permutation is, and not stored.
type runs struct {
	n, block   int64
	sequential bool
	blocks     permutation // of the blocks
	last       int64       // place of the last block, which may be short, among the blocks in their order
	short      int64       // samples in it
	shift      int64       // sample where the first block begins; the last one ends there

	from, to    int64 // share of the rank and worker
	window      int64
	seed, epoch uint64
	share       uint64
	k           int64       // number of the window that in belongs to; -1: none
	in          permutation // of the window's samples
}

func newRuns(n int64, o OrderOptions) *runs {
	share, shares := int64(o.Rank)*int64(o.Workers)+int64(o.Worker), int64(o.World)*int64(o.Workers)
	r := &runs{n: n, block: int64(o.Block), sequential: o.Sequential, window: int64(o.Window), seed: o.Seed, epoch: o.Epoch, share: uint64(share), k: -1}
	r.from, r.to = part(n, share, shares), part(n, share+1, shares)
	if n == 0 {
		return r
	}
	count := (n-1)/r.block + 1
	r.short = n - (count-1)*r.block
	r.blocks = newPermutation(uint64(count), o.Seed, o.Epoch)
	if r.last = count - 1; !r.sequential {
		r.last = int64(r.blocks.inverse(uint64(count - 1)))
		r.shift = int64(mix(mix(o.Seed^goldenGamma)+o.Epoch) % uint64(min(r.block, n)))
	}
	return r
}

// part returns where part k of n samples in all parts begins. k is at most all, which is at
// most 2^31.
func part(n, k, all int64) int64 { return n/all*k + n%all*k/all }

// at returns the position in the dataset of sample i of the share.
func (r *runs) at(i int64) int64 {
	k := i / r.window
	first := r.from + k*r.window
	at := i - k*r.window
	if !r.sequential {
		if k != r.k {
			r.in = newPermutation(uint64(min(r.window, r.to-first)), mix(r.seed+goldenGamma)^r.share, mix(r.epoch)+uint64(k))
			r.k = k
		}
		at = int64(r.in.at(uint64(at)))
	}
	return r.ofRun(first + at)
}

// ofRun returns the position in the dataset of sample p of the blocks in their order.
func (r *runs) ofRun(p int64) int64 {
	j, at := p/r.block, p%r.block
	if before := r.last * r.block; p >= before {
		switch p -= before; {
		case p < r.short:
			j, at = r.last, p
		default:
			j, at = r.last+1+(p-r.short)/r.block, (p-r.short)%r.block
		}
	}
	if !r.sequential {
		j = int64(r.blocks.at(uint64(j)))
	}
	return (j*r.block + at + r.shift) % r.n
}

// rest returns how many samples from i on are in the window of i.
func (r *runs) rest(i int64) int64 { return min(r.window-i%r.window, r.to-r.from-i) }
