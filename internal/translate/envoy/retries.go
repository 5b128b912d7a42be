package envoy

import (
	"slices"
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"
)

// Istio's defaults (https://istio.io/latest/docs/concepts/traffic-management/#retries): two retries, for failures after
// which the server cannot have acted, and on a host that was not tried yet, which is looked for five times.
const (
	retryOn           = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes"
	retryOnInbound    = "reset-before-request"
	retryAttempts     = 2
	retryHostAttempts = 5
)

// Retries is the policy of requests to other workloads. Nil means the defaults; no attempts mean no retries.
func (p *Packer) Retries(policy *networkingv1alpha3.HTTPRetry) *routev3.RetryPolicy {
	out := retries(policy, retryOn)
	if out == nil {
		return nil
	}
	out.HostSelectionRetryMaxAttempts = retryHostAttempts
	if ignore := policy.GetRetryIgnorePreviousHosts(); ignore == nil || ignore.GetValue() {
		out.RetryHostPredicate = []*routev3.RetryPolicy_RetryHostPredicate{{
			Name: "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
				TypedConfig: p.Any(&previoushostsv3.PreviousHostsPredicate{}),
			},
		}}
	}
	return out
}

// PlainRetries is Retries without the choice of another host, for clients that do not know it.
func PlainRetries(policy *networkingv1alpha3.HTTPRetry) *routev3.RetryPolicy {
	return retries(policy, retryOn)
}

// InboundRetries is the policy of requests to the proxy's own workload: only what never reached it is tried again.
func InboundRetries(policy *networkingv1alpha3.HTTPRetry) *routev3.RetryPolicy {
	return retries(policy, retryOnInbound)
}

func retries(policy *networkingv1alpha3.HTTPRetry, conditions string) *routev3.RetryPolicy {
	out := &routev3.RetryPolicy{RetryOn: conditions, NumRetries: wrapperspb.UInt32(retryAttempts)}
	if policy == nil {
		return out
	}
	if policy.GetAttempts() <= 0 {
		return nil
	}
	out.NumRetries = wrapperspb.UInt32(uint32(policy.GetAttempts()))
	out.PerTryTimeout = policy.GetPerTryTimeout()
	if policy.GetRetryOn() != "" {
		out.RetryOn, out.RetriableStatusCodes = splitRetryOn(policy.GetRetryOn())
	}
	return out
}

// splitRetryOn tells status codes from the names of conditions: Istio writes both in one list.
func splitRetryOn(list string) (conditions string, codes []uint32) {
	var words []string
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		if code, err := strconv.ParseUint(word, 10, 16); err == nil && 100 <= code && code < 600 {
			codes = append(codes, uint32(code))
		} else if word != "" {
			words = append(words, word)
		}
	}
	if len(codes) > 0 && !slices.Contains(words, "retriable-status-codes") {
		words = append(words, "retriable-status-codes")
	}
	return strings.Join(words, ","), codes
}
