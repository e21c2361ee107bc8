{{- /* fairlead.image is the image of a program: by its digest, or by tag. */ -}}
{{- define "fairlead.image" -}}
{{- $image := .root.Values.image -}}
{{- $digest := get $image.digests .program -}}
{{- if $digest -}}
{{ printf "%s/%s@%s" $image.registry .program $digest | quote }}
{{- else -}}
{{ printf "%s/%s:%s" $image.registry .program (default .root.Chart.AppVersion $image.tag) | quote }}
{{- end -}}
{{- end -}}

{{- /* fairlead.mutating is not empty where mutating admission policies are installed. */ -}}
{{- define "fairlead.mutating" -}}
{{- if eq (toString .Values.policies.mutating) "auto" -}}
{{- if or (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) -}}yes{{- end -}}
{{- else if .Values.policies.mutating -}}yes{{- end -}}
{{- end -}}
