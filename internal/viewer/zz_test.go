package viewer_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
)

func TestZZ(t *testing.T) {
	for _, n := range []int{10000} {
		r := long(t, n)
		seen, err := inspect.New(r, noon.Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var b bytes.Buffer
		if err := viewer.Write(&b, viewer.Document{Sessions: []*inspect.Session{seen}}); err != nil {
			t.Fatal(err)
		}
		fmt.Println(n, b.Len(), time.Since(start))
		os.WriteFile("/tmp/s21d-data/page.html", b.Bytes(), 0o600)
	}
}
