package page_test

import (
	"fmt"
	"os"
	"testing"
)

func TestZZShots(t *testing.T) {
	if os.Getenv("CONTEXTGRAPH_SCREENSHOTS") == "" {
		t.Skip()
	}
	p := openDemo(t, "s=nike&v=graph")
	for _, w := range []int64{1280, 390} {
		p.size(w, 800)
		for _, theme := range []string{"light", "dark"} {
			p.media("screen", theme, false)
			for _, id := range panels {
				eval[bool](p, fmt.Sprintf(`(location.hash = location.hash.replace(/v=\w+/, "v=%s"), true)`, id))
				p.wait(`document.body.dataset.view === ` + quote(id))
				eval[any](p, `__t.frame()`)
				p.picture(fmt.Sprintf("%d-%s-%s", w, theme, id))
			}
			eval[bool](p, `(document.body.classList.remove("nav-closed"), true)`)
			eval[any](p, `__t.frame()`)
			p.picture(fmt.Sprintf("%d-%s-sessions", w, theme))
			eval[bool](p, `(document.body.classList.add("nav-closed"), true)`)
		}
	}
}
