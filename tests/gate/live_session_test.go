// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// liveModel is a model with a service for live sessions: a WebSocket that asks for one
// call of a tool and hands on what it is sent.
type liveModel struct {
	client *genai.Client
	sent   chan string
}

func (m *liveModel) Name() string          { return "live" }
func (m *liveModel) Client() *genai.Client { return m.client }

func (m *liveModel) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) { yield(nil, errors.New("only live")) }
}

func newLiveModel(t *testing.T, call *genai.FunctionCall) *liveModel {
	t.Helper()
	m := &liveModel{sent: make(chan string, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
			base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n")
		_ = rw.Flush()
		calls, err := json.Marshal(map[string]any{"toolCall": map[string]any{"functionCalls": []any{call}}})
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := readFrame(rw.Reader); err != nil {
			return
		}
		writeFrame(rw.Writer, []byte(`{"setupComplete":{}}`))
		writeFrame(rw.Writer, calls)
		for {
			text, err := readFrame(rw.Reader)
			if err != nil {
				return
			}
			m.sent <- text
		}
	}))
	t.Cleanup(server.Close)
	var err error
	m.client, err = genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: strings.Replace(server.URL, "http", "ws", 1), APIVersion: "v1beta"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// readFrame reads one masked frame of a client, as RFC 6455 has it.
func readFrame(r *bufio.Reader) (string, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", err
	}
	size := uint64(head[1] & 0x7f)
	if n := map[uint64]int{126: 2, 127: 8}[size]; n > 0 {
		var b [8]byte
		if _, err := io.ReadFull(r, b[8-n:]); err != nil {
			return "", err
		}
		size = binary.BigEndian.Uint64(b[:])
	}
	data := make([]byte, 4+size)
	if _, err := io.ReadFull(r, data); err != nil {
		return "", err
	}
	if head[0]&0xf == 8 {
		return "", io.EOF
	}
	mask, text := data[:4], data[4:]
	for i := range text {
		text[i] ^= mask[i%4]
	}
	return string(text), nil
}

func writeFrame(w *bufio.Writer, text []byte) {
	_ = w.WriteByte(0x81)
	_ = w.WriteByte(126)
	_ = binary.Write(w, binary.BigEndian, uint16(len(text)))
	_, _ = w.Write(text)
	_ = w.Flush()
}

// signal is a log that tells of a line with the text.
type signal struct {
	text string
	c    chan bool
}

func (s signal) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.text) {
		select {
		case s.c <- true:
		default:
		}
	}
	return len(p), nil
}

// In a live session nobody can be asked: a guarded tool does not run, and the model is
// told why. Of a streaming tool ADK tells it nothing but that it runs.
func TestLiveSessionDenies(t *testing.T) {
	cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
		denied := signal{"cannot_ask", make(chan bool, 1)}
		h := cgtest.New(t, w.Option, func(o *cgtest.Options) { o.Config.Logger = slog.New(slog.NewTextHandler(denied, nil)) })
		m := newLiveModel(t, &genai.FunctionCall{ID: "c1", Name: "buy", Args: aRoute})
		root := cgtest.NewAgent(t, llmagent.Config{Name: "root", Model: m, Tools: h.Tools, Toolsets: h.Toolsets})
		h.Serve(root)
		live, events, err := h.Runner.RunLive(t.Context(), cgtest.User, cgtest.SessionID, agent.LiveRunConfig{})
		if err != nil {
			t.Fatal(err)
		}
		streams := strings.Contains(w.Name, "streaming")
		go func() {
			defer live.Close()
			told, logged := false, false
			for !logged || !told {
				select {
				case text := <-m.sent:
					told = told || streams || strings.Contains(text, "cannot_ask")
				case <-denied.c:
					logged = true
				case <-t.Context().Done():
					return
				}
			}
			// The log tells of the refusal before its row is written.
			for t.Context().Err() == nil {
				_ = h.CG.Flush(t.Context())
				rows, err := store.Events(t.Context(), h.Store(), cgtest.Key(cgtest.SessionID))
				if err != nil || len(rowtest.Of(rows, record.ToolError)) > 0 {
					return
				}
			}
		}()
		for ev, err := range events {
			if err != nil {
				t.Errorf("the session failed: %v", err)
				break
			}
			if len(ev.Actions.RequestedToolConfirmations) > 0 {
				t.Error("a confirmation was asked for that nobody sees")
			}
		}
		h.WantBought(0)
		failed := rowtest.Of(h.Rows(cgtest.SessionID), record.ToolError)
		if len(failed) != 1 || !strings.Contains(failed[0].ErrorMessage, "live session") {
			t.Errorf("TOOL_ERROR rows = %+v, want one that says why it did not run", failed)
		}
	})
}

// A live run that cannot start fires no further callback. It is closed when a later
// run starts, and does not spoil the session.
func TestLiveRunThatCannotStartIsClosedLater(t *testing.T) {
	h := cgtest.New(t)
	h.Session(cgtest.User, cgtest.SessionID)
	if _, _, err := h.Runner.RunLive(t.Context(), cgtest.User, cgtest.SessionID, agent.LiveRunConfig{}); err == nil {
		t.Fatal("the scripted model cannot be live, and yet the run started")
	}
	h.Clock.Advance(time.Hour)
	id, _ := h.Ask(cgtest.SessionID)
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v, want it bought", got)
	}
	cgtest.CheckTree(t, h.Rows(cgtest.SessionID))
}
