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

// clientMode makes this test binary a gRPC client instead of running tests.
const clientMode = "E2E_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(clientMode) != "" {
		if err := runClient(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runClient sends one RPC for each question on its standard input, and prints the answer.
func runClient() error {
	clients := map[string]grpc_health_v1.HealthClient{} // by target
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return err
		}
		if clients[q.Target] == nil {
			conn, err := grpc.NewClient(q.Target, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return err
			}
			defer conn.Close()
			clients[q.Target] = grpc_health_v1.NewHealthClient(conn)
		}
		if err := out.Encode(ask(clients[q.Target], q)); err != nil {
			return err
		}
	}
	return nil
}

func ask(client grpc_health_v1.HealthClient, q question) answer {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(q.Seconds*float64(time.Second)))
	defer cancel()
	var header metadata.MD
	if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Header(&header), grpc.WaitForReady(q.Wait)); err != nil {
		return answer{Error: err.Error()}
	}
	if names := header.Get("backend"); len(names) == 1 {
		return answer{Backend: names[0]}
	}
	return answer{}
}
