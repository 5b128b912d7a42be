package soak

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/meshd/meshd/internal/testkit/manifests"
)

// world is the folder of manifests and what is in it now.
type world struct {
	dir      string
	random   *rand.Rand
	mesh     manifests.Mesh
	services map[int]manifests.Service // that exist, by number
	pods     []manifests.Pod
	next     int            // number of the next service that never was
	made     map[string]int // changes by kind
}

// workloads is how many kinds of pods there are. Their services may change but are not deleted for good.
const workloads = 20

func newWorld(dir string, services, pods int, seed uint64) (*world, error) {
	w := &world{
		dir: dir, random: rand.New(rand.NewPCG(seed, 0)), mesh: manifests.Mesh{Services: services, Namespaces: 5, Endpoints: 3},
		services: map[int]manifests.Service{}, next: services, made: map[string]int{},
	}
	for i := range services {
		w.services[i] = w.mesh.Service(i)
	}
	for i := range pods {
		pod := manifests.Pod{Number: i, Workload: i % workloads, Namespaces: w.mesh.Namespaces}
		if err := pod.Write(dir); err != nil {
			return nil, err
		}
		w.pods = append(w.pods, pod)
	}
	return w, w.mesh.Write(dir)
}

// change makes one change, of any kind.
func (w *world) change() error {
	kind := [...]string{"create", "delete", "relabel", "selector", "endpoints"}[w.random.IntN(5)]
	if missing := w.mesh.Services - len(w.services); kind == "delete" && missing > w.mesh.Services/10 || kind == "create" && -missing > w.mesh.Services/10 {
		kind = "endpoints" // the mesh keeps its size
	}
	w.made[kind]++
	switch kind {
	case "create":
		return w.put(w.mesh.Service(w.unused()))
	case "delete":
		n := w.any()
		svc := w.services[n]
		delete(w.services, n)
		return svc.Remove(w.dir)
	case "relabel":
		i := w.random.IntN(len(w.pods))
		w.pods[i].App = w.app()
		return w.pods[i].Write(w.dir)
	case "selector":
		svc := w.services[w.any()]
		svc.App = w.app()
		return w.put(svc)
	default:
		svc := w.services[w.any()]
		svc.Moved++
		svc.Endpoints = w.random.IntN(5)
		return w.put(svc)
	}
}

func (w *world) put(svc manifests.Service) error {
	w.services[svc.Number] = svc
	return svc.Write(w.dir)
}

// unused is the number of a service that was deleted, or of one that never was.
func (w *world) unused() int {
	if n := w.random.IntN(w.next); w.services[n].Namespaces == 0 {
		return n
	}
	w.next++
	return w.next - 1
}

func (w *world) any() int {
	numbers := slices.Sorted(maps.Keys(w.services)) // in order, so that a seed gives the same changes again
	return numbers[w.random.IntN(len(numbers))]
}

func (w *world) app() string { return fmt.Sprintf("svc-%d", w.random.IntN(workloads)) }
