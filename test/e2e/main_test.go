// Package e2e runs the real meshd and real clients that nobody here wrote.
package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	_ "google.golang.org/grpc/xds" // what this test is about: gRPC's own xDS client
)

// clientTarget makes this test binary a gRPC client of the target instead of running tests: gRPC reads its bootstrap
// from the environment of the process.
const clientTarget = "E2E_CLIENT_TARGET"

func TestMain(m *testing.M) {
	if target := os.Getenv(clientTarget); target != "" {
		if err := runClient(target); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// answer is what the client prints for each line that it reads.
type answer struct {
	Backend string
	Error   string
}

// runClient sends one RPC for each line on its standard input, and prints who answered.
func runClient(target string) error {
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var header metadata.MD
		_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Header(&header), grpc.WaitForReady(true))
		cancel()
		a := answer{}
		if err != nil {
			a.Error = err.Error()
		} else if names := header.Get("backend"); len(names) == 1 {
			a.Backend = names[0]
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return nil
}
