package lock

import (
	"fmt"
	"slices"
	"strings"
)

// condition writes a set of variants as short as it finds: "plaintext=on" if that picks exactly these out of all,
// "plaintext=on,source=kube" if both are needed, alternatives with " | " between them, and nothing for all.
func condition(set, all []string) string {
	if len(set) == len(all) {
		return ""
	}
	var out []string
	covered := map[string]bool{}
	for _, v := range set {
		if covered[v] {
			continue
		}
		terms := strings.Split(v, ",")
		slices.Sort(terms)
		// Leave out every term without which the condition still picks none but members of the set.
		for i := 0; i < len(terms); {
			fewer := slices.Delete(slices.Clone(terms), i, i+1)
			if len(fewer) > 0 && within(fewer, set, all) {
				terms = fewer
			} else {
				i++
			}
		}
		for _, other := range all {
			if matches(other, terms) {
				covered[other] = true
			}
		}
		out = append(out, strings.Join(terms, ","))
	}
	return strings.Join(out, " | ")
}

func within(terms, set, all []string) bool {
	for _, v := range all {
		if matches(v, terms) && !slices.Contains(set, v) {
			return false
		}
	}
	return true
}

func matches(variant string, terms []string) bool {
	has := strings.Split(variant, ",")
	for _, t := range terms {
		if !slices.Contains(has, t) {
			return false
		}
	}
	return true
}

// variantsOf reads what condition wrote.
func variantsOf(text string, all []string) ([]string, error) {
	if text == "" {
		return slices.Clone(all), nil
	}
	var out []string
	for alternative := range strings.SplitSeq(text, "|") {
		terms := strings.Split(strings.TrimSpace(alternative), ",")
		found := false
		for _, v := range all {
			if matches(v, terms) {
				found = true
				if !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("no variant is %q", strings.TrimSpace(alternative))
		}
	}
	slices.Sort(out)
	return out, nil
}
