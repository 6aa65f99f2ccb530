{{- /* Where Berth stores objects: in memory where all of them are copies of the hub's. */}}
{{- define "berth.storage" -}}
{{- if eq .Values.storage "etcd" -}}
etcd
{{- else if has "owned" (values .Values.sources) -}}
embedded
{{- else -}}
memory
{{- end -}}
{{- end -}}
