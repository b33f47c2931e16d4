package objstoretest_test

import (
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/objstoretest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	open := func(*testing.T) objstore.Bucket { return memstore.New(memstore.Config{}) }
	objstoretest.Run(t, open, objstoretest.Features{Meta: true, ManyKeys: 2500, BadKeys: []string{"\xff", string(make([]byte, 1025))}})
}

func TestVersionedMemory(t *testing.T) {
	t.Parallel()
	open := func(*testing.T) objstore.Bucket { return memstore.New(memstore.Config{Versioned: true}) }
	objstoretest.Run(t, open, objstoretest.Features{Meta: true, Versions: true, ManyKeys: 1001})
}
