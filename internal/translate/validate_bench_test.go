package translate_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/validate"
)

// BenchmarkValidate: the CPU that it costs to make and serialise a resource of each kind, and what checking it adds, for a
// mesh of 200 services that were not seen before.
func BenchmarkValidate(b *testing.B) {
	var objects strings.Builder
	for i := range 200 {
		name, address := fmt.Sprintf("s%03d", i), fmt.Sprintf("10.1.%d.%d", i/100, i%100+1)
		port, number := "http", 80+i%20
		if i%4 == 0 {
			port, number = "tcp", 9000+i
		}
		objects.WriteString(serviceYAML(name, address, port, number, 1) + sliceYAML(name, port, number, "10.2."+address[5:]))
	}
	s := scenario.Parse(b, objects.String()).Snapshot(b, nil)
	p := proxy(b, cart0, nil)
	for kind, g := range sidecar() {
		recipes := g.List(g.Class(s, p)).All(s)
		b.Run(kind+"/make", func(b *testing.B) {
			makeAll(b, recipes, func() check { return func(proto.Message, []byte) error { return nil } })
		})
		b.Run(kind+"/make-and-check", func(b *testing.B) { makeAll(b, recipes, func() check { return validate.New().Resource }) })
		seen := validate.New()
		b.Run(kind+"/make-and-check-again", func(b *testing.B) { makeAll(b, recipes, func() check { return seen.Resource }) })
	}
}

type check = func(m proto.Message, serialised []byte) error

func makeAll(b *testing.B, recipes []translate.Recipe, newCheck func() check) {
	began := cpu(b)
	for b.Loop() {
		check := newCheck()
		for _, r := range recipes {
			m, err := r.Build()
			if err != nil {
				b.Fatal(err)
			}
			serialised, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err == nil {
				err = check(m, serialised)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(cpu(b)-began)/float64(b.N*len(recipes)), "cpu-ns/resource")
	b.ReportMetric(0, "ns/op")
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
