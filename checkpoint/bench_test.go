// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// long returns checkpoints of a session with n events: turns of 10, whose messages have rows.
func long(b *testing.B, n int) (cps *checkpoint.Checkpoints, bare, service session.Service) {
	h := cgtest.New(b, cgtest.OnFile)
	cps, bare = checkpoint.New(h.CG, checkpoint.Reads("*")), session.InMemoryService()
	service = cps.Sessions(bare)
	made, err := service.Create(b.Context(), &session.CreateRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
	if err != nil {
		b.Fatal(err)
	}
	journal := h.Journal()
	for i := range n {
		ev := session.NewEvent(b.Context(), fmt.Sprintf("turn %d", i/10))
		ev.Author, ev.Content = "root", adktest.UserText("text")
		if i%10 == 0 {
			ev.Author = "user"
		}
		ev.Actions.StateDelta["n"] = i
		if err := service.AppendEvent(b.Context(), made.Session, ev); err != nil {
			b.Fatal(err)
		}
		row := record.Event{
			Timestamp: time.Now().UnixMicro(), EventID: fmt.Sprintf("%032x", i+1), EventType: record.LLMResponse, Status: record.StatusOK, RunSeq: int64(i%10 + 1),
			AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID, RunID: fmt.Sprintf("run %d", i/10), InvocationID: ev.InvocationID,
		}
		if i%10 == 0 {
			row.EventType = record.UserMessageReceived
		}
		journal.Append(row)
	}
	if err := journal.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return cps, bare, service
}

func BenchmarkGet(b *testing.B) {
	req := &session.GetRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID}
	for _, n := range []int{10, 10_000} {
		cps, bare, service := long(b, n)
		get := func(name string, service session.Service) {
			b.Run(fmt.Sprintf("%d %s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				start := cgtest.CPUTime(b)
				for b.Loop() {
					if _, err := service.Get(b.Context(), req); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cgtest.CPUTime(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
			})
		}
		get("bare", bare)
		get("decorated", service)
		list, err := cps.List(b.Context(), here)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cps.Rewind(b.Context(), here, list[0].ID); err != nil {
			b.Fatal(err)
		}
		get("rewound", service)
	}
}

func BenchmarkCreate(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cps, _, _ := long(b, n)
			i := 0
			for b.Loop() {
				i++
				if _, err := cps.Create(b.Context(), here, fmt.Sprint("name ", i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRewind takes the last turn of 10 events back, each time the one before. The time of the processor beside it is
// for a busy machine: a rewind waits for two commits.
func BenchmarkRewind(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cps, bare, _ := long(b, n)
			list, err := cps.List(b.Context(), here)
			if err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			b.ResetTimer()
			start := cgtest.CPUTime(b)
			for i := range b.N {
				if i == len(list) {
					b.Fatalf("there are only %d turns", len(list))
				}
				if _, err := cps.Rewind(b.Context(), here, list[i].ID); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cgtest.CPUTime(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
			start = cgtest.CPUTime(b)
			for range b.N {
				if _, err := bare.Get(b.Context(), &session.GetRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cgtest.CPUTime(b)-start)/float64(b.N)/1e6, "get-ms/op")
		})
	}
}
