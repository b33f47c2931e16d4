package packing

import (
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/parts"
)

// chunks opens the buckets of a plan that packs images into chunks of a gulp dataset.
func (x packer) chunks(dir parts.Folder, head *parts.Plan) (parts.Work, error) {
	p, err := pack.ParseChunksPlan(head.Text)
	if err != nil {
		return nil, err
	}
	at := pack.ChunksBuckets{Work: dir.Bucket, Dir: dir.Dir}
	if at.Source, err = x.buckets.Open(p.Source.Bucket); err != nil {
		return nil, err
	}
	if at.Dest, err = x.buckets.Open(p.Dest.Bucket); err != nil {
		return nil, err
	}
	return pack.NewChunksWork(p, at, pack.Options{}), nil
}
