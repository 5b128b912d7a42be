package mesh

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	"sigs.k8s.io/yaml"
)

// Parse reads a mesh config and fills in the defaults. Warnings are about what is ignored: fields of a newer Istio, or
// misspelt ones. The error joins everything that is wrong, each with the path of its field.
//
// A field that is set replaces the default as a whole, also if it is a message or a list, as Istio has it. The
// exceptions are Istio's as well: in defaultConfig and defaultProviders each field counts by itself, in
// defaultConfig.proxyMetadata and proxyHeaders too, and extensionProviders are merged by name.
func Parse(text []byte) (config *meshv1alpha1.MeshConfig, warnings []string, err error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, nil, err
	}
	switch more, err := hasMore(text); {
	case err != nil:
		return nil, nil, err
	case more:
		return nil, nil, errors.New("it has more than one document")
	}
	if string(data) == "null" {
		data = []byte("{}")
	}
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&fields); err != nil {
		return nil, nil, errors.New("it is not a mapping of fields to values")
	}
	if kind, _ := fields["kind"].(string); kind == "ConfigMap" {
		return nil, nil, errors.New(`it is a ConfigMap: give a file with the text of its key "mesh"`)
	}
	given := &meshv1alpha1.MeshConfig{}
	c := &checker{}
	c.message("", given.ProtoReflect().Descriptor(), fields)
	if len(c.errors) > 0 {
		return nil, c.warnings, errors.Join(c.errors...)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, given); err != nil {
		return nil, c.warnings, fmt.Errorf("it is not a mesh config: %w", err)
	}
	config = Default()
	merge(config, given, fields)
	if err := Validate(config); err != nil {
		return nil, c.warnings, err
	}
	return config, c.warnings, nil
}

// hasMore reports whether a second document follows, which the parser would pass over.
func hasMore(text []byte) (bool, error) {
	dec := yamlv3.NewDecoder(bytes.NewReader(text))
	for documents := 0; ; documents++ {
		var node yamlv3.Node
		if err := dec.Decode(&node); errors.Is(err, io.EOF) {
			return documents > 1, nil
		} else if err != nil {
			return false, err
		}
	}
}

// merge puts what was given over the defaults. fields says which were given: a field that is given its zero value
// counts.
func merge(config, given *meshv1alpha1.MeshConfig, fields map[string]any) {
	proxy, providers, extensions := config.DefaultConfig, config.DefaultProviders, config.ExtensionProviders
	override(config, given, fields)

	config.DefaultConfig, config.DefaultProviders, config.ExtensionProviders = proxy, providers, extensions
	if sub, ok := value(fields, "defaultConfig", "default_config").(map[string]any); ok {
		override(proxy, given.DefaultConfig, sub)
		// The defaults have neither metadata nor headers, so there is nothing to merge these two with.
	}
	if sub, ok := value(fields, "defaultProviders", "default_providers").(map[string]any); ok {
		override(providers, given.DefaultProviders, sub)
	}
	for _, p := range given.ExtensionProviders {
		i := slices.IndexFunc(config.ExtensionProviders, func(x *meshv1alpha1.MeshConfig_ExtensionProvider) bool { return x.Name == p.Name })
		if i < 0 {
			config.ExtensionProviders = append(config.ExtensionProviders, p)
		} else {
			config.ExtensionProviders[i] = p
		}
	}
	slices.Sort(config.TrustDomainAliases)
	config.TrustDomainAliases = slices.Compact(config.TrustDomainAliases)
}

// override replaces the fields that were given.
func override(config, given proto.Message, fields map[string]any) {
	to, from := config.ProtoReflect(), given.ProtoReflect()
	all := to.Descriptor().Fields()
	for i := range all.Len() {
		fd := all.Get(i)
		switch {
		case value(fields, fd.JSONName(), fd.TextName()) == nil: // not given, or null, which means the default
		case from.Has(fd):
			to.Set(fd, from.Get(fd))
		default:
			to.Clear(fd)
		}
	}
}

// value finds a field by either of the names that it may have in JSON.
func value(fields map[string]any, names ...string) any {
	for _, name := range names {
		if v := fields[name]; v != nil {
			return v
		}
	}
	return nil
}

// field finds a field's descriptor by either of its names.
func field(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := md.Fields().ByJSONName(name); fd != nil {
		return fd
	}
	return md.Fields().ByTextName(name)
}
