package snapshot_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/meshd/meshd/internal/model"
)

// work is what compilations allocated, on average.
type work struct{ objects, bytes uint64 }

// workOf compiles a mesh after each of some changes. Only compiling is measured.
func workOf(t *testing.T, services int, change func(r *rig, n int)) work {
	const warm, times = 4, 40
	r := benchRig(t, services)
	last := r.compile()
	var sum work
	var before, after runtime.MemStats
	for n := range warm + times {
		change(r, n)
		runtime.ReadMemStats(&before)
		s := r.compile()
		runtime.ReadMemStats(&after)
		if s == last {
			t.Fatal("the change changes nothing")
		}
		if last = s; n >= warm { // before, tables find their size
			sum.objects += after.Mallocs - before.Mallocs
			sum.bytes += after.TotalAlloc - before.TotalAlloc
		}
	}
	return work{sum.objects / times, sum.bytes / times}
}

// TestSmallChangesAreSmallWork: what one small change makes anew is the same in a mesh of sixteen times the size. Only
// lists of pointers to services are copied as a whole: that is what may grow, by a few words for each service.
func TestSmallChangesAreSmallWork(t *testing.T) {
	const small, large = 250, 4000
	const perService = 4 * 8 // bytes: three lists, and room
	for what, change := range map[string]func(r *rig, n int){
		"an endpoint": func(r *rig, n int) { r.stores.EndpointSlices.Put(benchSlice(7, n%2 == 1)) },
		"a service": func(r *rig, n int) {
			if n%2 == 0 {
				r.stores.Services.Put(benchService(1<<15, 90))
			} else {
				r.stores.Services.Delete(model.NamespacedName{Namespace: "bench", Name: fmt.Sprintf("svc-%d", 1<<15)})
			}
		},
		"a label of a pod": func(r *rig, n int) {
			pod := benchPod(7, 0, "sa")
			pod.Labels["version"] = fmt.Sprint("v", 2+n%2)
			r.stores.Pods.Put(pod)
		},
	} {
		t.Run(what, func(t *testing.T) {
			in250, in4000 := workOf(t, small, change), workOf(t, large, change)
			t.Logf("in %d services %+v, in %d services %+v", small, in250, large, in4000)
			if in4000.objects > in250.objects+in250.objects/4 {
				t.Errorf("%d objects are allocated in a mesh of %d services, and %d in one of %d", in250.objects, small, in4000.objects, large)
			}
			if in4000.bytes > in250.bytes+perService*(large-small) {
				t.Errorf("%d bytes are allocated in a mesh of %d services, and %d in one of %d", in250.bytes, small, in4000.bytes, large)
			}
		})
	}
}
