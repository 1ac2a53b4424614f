{{- define "plimsoll-edge.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll-edge.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "plimsoll-edge.labels" -}}
{{ include "plimsoll-edge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "plimsoll-edge.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "plimsoll-edge.config" -}}
{{- $admin := dict "address" (printf "127.0.0.1:%d" (int .Values.adminPort)) -}}
{{- if .Values.adminTokenSecret.name -}}
{{- $admin = dict "address" (printf "0.0.0.0:%d" (int .Values.adminPort)) "token" "{{ env('EDGE_ADMIN_TOKEN') }}" -}}
{{- end -}}
{{- $own := dict "listen" (printf "0.0.0.0:%d" (int .Values.containerPort)) "admin" $admin -}}
{{- merge $own .Values.config | toYaml -}}
{{- end -}}
