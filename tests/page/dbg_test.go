package page_test

import (
	"github.com/chromedp/cdproto/input"
	"testing"
)

func TestDbg(t *testing.T) {
	p := openDemo(t, "s=nike&v=thoughts")
	call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyDown", Key: "/", Code: "Slash", Text: "/", WindowsVirtualKeyCode: 191})
	call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyUp", Key: "/", Code: "Slash", WindowsVirtualKeyCode: 191})
	t.Log(eval[string](p, `document.activeElement.id+"|"+document.activeElement.value`))
	for _, s := range []string{"Vertical", "Horizontal"} {
		p.click("#panel-thoughts .seg button", s)
		p.click("#panel-thoughts .cv-tools button", "Fit")
		p.click("#panel-thoughts .cv-tools button", "Zoom in")
		p.picture("thoughts-" + s)
	}
}
