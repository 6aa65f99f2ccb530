{{- /* The labels of every object in the namespace. */}}
{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/part-of: berth
{{- end -}}

{{- /* The labels by which Pods are selected. */}}
{{- define "berth.selector" -}}
app.kubernetes.io/instance: berth
app.kubernetes.io/name: berth
{{- end -}}

{{- /* Berth's service account, as the subject of bindings. */}}
{{- define "berth.account" -}}
{kind: ServiceAccount, name: berth, namespace: {{ .Release.Namespace }}}
{{- end -}}

{{- define "berth.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}
{{- end -}}

{{- /* Where the Pods of the server, and of the Job before the release goes, run and get their image from. */}}
{{- define "berth.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

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

{{- /* What the systems need that are not off, all of one sort: files/systems/SYSTEM/PLACE.yaml has a list for each sort,
and the rules of a ClusterRole under its name; observe.yaml is of a system on the hub that is only looked at. Read it with
fromYamlArray. Takes the root and the sort. */}}
{{- define "berth.needed" -}}
{{- $root := index . 0 }}
{{- $sort := index . 1 }}
{{- $all := list }}
{{- range $system, $place := $root.Values.sources }}
{{- if and (eq $root.Values.mode "observe") (eq $place "hub") }}{{ $place = "observe" }}{{ end }}
{{- $needs := $root.Files.Get (printf "files/systems/%s/%s.yaml" $system $place) | fromYaml }}
{{- $all = concat $all (get $needs $sort | default list) }}
{{- end }}
{{- uniq $all | toYaml }}
{{- end -}}

{{- /* A ClusterRole, and the user of the same name who has it. Takes the root and the name. */}}
{{- define "berth.actor" -}}
{{- $name := index . 1 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
rules: {{- include "berth.needed" . | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $name | quote }}}
subjects:
  - {apiGroup: rbac.authorization.k8s.io, kind: User, name: {{ $name | quote }}}
{{- end -}}

{{- /* A webhook. Takes the root, the path of the URL, and what is particular to it. */}}
{{- define "berth.webhook" -}}
{{- $root := index . 0 }}
{{- $webhook := index . 2 -}}
name: {{ $webhook.name }}
admissionReviewVersions: [v1]
clientConfig:
  service: {name: berth, namespace: {{ $root.Release.Namespace }}, port: 443, path: {{ index . 1 }}}
failurePolicy: {{ $webhook.failurePolicy }}
{{- with $webhook.matchConditions }}
matchConditions: {{- toYaml . | nindent 2 }}
{{- end }}
matchPolicy: Equivalent
namespaceSelector:
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, {{ $root.Release.Namespace }}]}
{{- with $webhook.objectSelector }}
objectSelector: {{- toYaml . | nindent 2 }}
{{- end }}
rules: {{- toYaml $webhook.rules | nindent 2 }}
sideEffects: None
timeoutSeconds: 5
{{- end -}}

{{- /* CEL: the field is as it was. Takes the new and the old object, and the field. */}}
{{- define "berth.unchanged" -}}
{{- $new := printf "%s.%s" (index . 0) (index . 2) -}}
{{- $old := printf "%s.%s" (index . 1) (index . 2) -}}
(has({{ $new }}) ? has({{ $old }}) && {{ $new }} == {{ $old }} : !has({{ $old }}))
{{- end -}}

{{- /* Refuses values that do not go together. */}}
{{- define "berth.check" -}}
{{- $problems := list }}
{{- $owned := list }}
{{- $on := false }}
{{- range $system, $place := .Values.sources }}
{{- if eq $place "owned" }}{{ $owned = append $owned (printf "sources.%s" $system) }}{{ end }}
{{- if ne $place "off" }}{{ $on = true }}{{ end }}
{{- end }}
{{- if not $on }}
{{- $problems = append $problems "every system is off: set one of sources to hub or owned" }}
{{- end }}
{{- if and $owned (eq .Values.mode "observe") }}
{{- $problems = append $problems (printf "%s: owned, and mode observe looks at what is on the hub: set mode to decide" (join ", " $owned)) }}
{{- end }}
{{- if and (eq .Values.storage "etcd") (not .Values.etcd.servers) }}
{{- $problems = append $problems "storage is etcd: set etcd.servers to its client URLs" }}
{{- end }}
{{- if and $owned (eq .Values.storage "embedded") (gt (int .Values.replicas) 1) }}
{{- $problems = append $problems (printf "%s: owned, and storage embedded is for one server, but replicas is %d: set storage to etcd, or replicas to 1" (join ", " $owned) (int .Values.replicas)) }}
{{- end }}
{{- if $problems }}
{{- fail (printf "\n- %s" (join "\n- " $problems)) }}
{{- end }}
{{- end -}}
