package envoy

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

// textFormat is Istio's default format of access logs, field by field as its documentation lists them
// (https://istio.io/latest/docs/tasks/observability/logs/access-log/#default-access-log-format).
const textFormat = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" ` +
	`%RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% ` +
	`"%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% ` +
	`%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" ` +
	`"%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% ` +
	`%DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%` + "\n"

// jsonFormat is the same as an object.
var jsonFormat = map[string]string{
	"start_time":                        "%START_TIME%",
	"route_name":                        "%ROUTE_NAME%",
	"method":                            "%REQ(:METHOD)%",
	"path":                              "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
	"protocol":                          "%PROTOCOL%",
	"response_code":                     "%RESPONSE_CODE%",
	"response_flags":                    "%RESPONSE_FLAGS%",
	"response_code_details":             "%RESPONSE_CODE_DETAILS%",
	"connection_termination_details":    "%CONNECTION_TERMINATION_DETAILS%",
	"bytes_received":                    "%BYTES_RECEIVED%",
	"bytes_sent":                        "%BYTES_SENT%",
	"duration":                          "%DURATION%",
	"upstream_service_time":             "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
	"x_forwarded_for":                   "%REQ(X-FORWARDED-FOR)%",
	"user_agent":                        "%REQ(USER-AGENT)%",
	"request_id":                        "%REQ(X-REQUEST-ID)%",
	"authority":                         "%REQ(:AUTHORITY)%",
	"upstream_host":                     "%UPSTREAM_HOST%",
	"upstream_cluster":                  "%UPSTREAM_CLUSTER_RAW%",
	"upstream_local_address":            "%UPSTREAM_LOCAL_ADDRESS%",
	"downstream_local_address":          "%DOWNSTREAM_LOCAL_ADDRESS%",
	"downstream_remote_address":         "%DOWNSTREAM_REMOTE_ADDRESS%",
	"requested_server_name":             "%REQUESTED_SERVER_NAME%",
	"upstream_transport_failure_reason": "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
}

// AccessLog is the log of requests or connections that the mesh config asks for; none if accessLogFile is empty.
func (p *Packer) AccessLog(mesh *meshv1alpha1.MeshConfig) []*accesslogv3.AccessLog {
	if mesh.GetAccessLogFile() == "" {
		return nil
	}
	return []*accesslogv3.AccessLog{{
		Name: "envoy.access_loggers.file",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: p.Any(&filev3.FileAccessLog{
			Path:            mesh.GetAccessLogFile(),
			AccessLogFormat: &filev3.FileAccessLog_LogFormat{LogFormat: logFormat(mesh)},
		})},
	}}
}

// ListenerAccessLog is AccessLog for connections that no filter chain matched. Other connections are logged by their
// filters.
func (p *Packer) ListenerAccessLog(mesh *meshv1alpha1.MeshConfig) []*accesslogv3.AccessLog {
	if mesh.GetDisableEnvoyListenerLog() {
		return nil
	}
	logs := p.AccessLog(mesh)
	for _, log := range logs {
		log.Filter = &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
			ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: []string{"NR"}},
		}}
	}
	return logs
}

// logFormat reads accessLogFormat. A JSON format that cannot be read falls back to the default: logs in an unexpected
// shape are better than none.
func logFormat(mesh *meshv1alpha1.MeshConfig) *corev3.SubstitutionFormatString {
	custom := mesh.GetAccessLogFormat()
	if mesh.GetAccessLogEncoding() == meshv1alpha1.MeshConfig_JSON {
		format := &structpb.Struct{}
		if custom == "" || protojson.Unmarshal([]byte(custom), format) != nil {
			format = &structpb.Struct{Fields: make(map[string]*structpb.Value, len(jsonFormat))}
			for name, operator := range jsonFormat {
				format.Fields[name] = structpb.NewStringValue(operator)
			}
		}
		return &corev3.SubstitutionFormatString{
			Format:            &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: format},
			JsonFormatOptions: &corev3.JsonFormatOptions{},
		}
	}
	text := textFormat
	if custom != "" {
		text = custom
		if text[len(text)-1] != '\n' {
			text += "\n"
		}
	}
	return &corev3.SubstitutionFormatString{Format: &corev3.SubstitutionFormatString_TextFormatSource{
		TextFormatSource: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}},
	}}
}
