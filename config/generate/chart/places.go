package main

import "sigs.k8s.io/kustomize/api/resource"

// block puts a value that is a list or map below a field, at this indent, if there is one.
func block(field, value, indent string) string {
	return "{{- with .Values." + value + " }}\n" + field + ":\n{{- toYaml . | nindent " + indent + " }}\n{{- end }}"
}

// places are the lines of an object that values change.
func places(r *resource.Resource) []place {
	switch r.GetKind() {
	case "Deployment":
		if ofConsole(r) {
			return consolePlaces()
		}
		return operatorPlaces()
	case "DaemonSet":
		return speakerPlaces()
	case "ServiceAccount":
		if r.GetName() == "router" { // whose pods the operator makes
			return []place{{"kind: ServiceAccount", "kind: ServiceAccount\n" + block("imagePullSecrets", "image.pullSecrets", "2")}}
		}
	}
	return nil
}

func operatorPlaces() []place {
	return []place{
		{"replicas: 2", "replicas: {{ .Values.operator.replicas }}"},
		{"image: fairlead.dev/operator:dev", `image: {{ include "fairlead.image" (dict "root" . "program" "operator") }}`},
		{"imagePullPolicy: IfNotPresent", "imagePullPolicy: {{ .Values.image.pullPolicy }}"},
		{"value: fairlead.dev/router:dev", `value: {{ include "fairlead.image" (dict "root" . "program" "router") }}`},
		{"value: fairlead.dev/operator:dev", `value: {{ if .Values.canary.enabled }}{{ include "fairlead.image" (dict "root" . "program" "operator") }}{{ else }}""{{ end }}`},
		{"value: apps.example.com", "value: {{ .Values.domain | quote }}"},
		{"value: 1m", "value: {{ .Values.canary.interval | quote }}"},
		{"- --canary-interval=$(CANARY_INTERVAL)", "- --canary-interval=$(CANARY_INTERVAL)\n{{- range .Values.operator.extraArgs }}\n- {{ . | quote }}\n{{- end }}"},
		{"serviceAccountName: ingress-operator", "serviceAccountName: ingress-operator\n" + block("imagePullSecrets", "image.pullSecrets", "6")},
		{"priorityClassName: system-cluster-critical", "priorityClassName: {{ .Values.operator.priorityClassName }}"},
	}
}

func consolePlaces() []place {
	return []place{
		{"image: fairlead.dev/console:dev", `image: {{ include "fairlead.image" (dict "root" . "program" "console") }}`},
		{"imagePullPolicy: IfNotPresent", "imagePullPolicy: {{ .Values.image.pullPolicy }}"},
		{"serviceAccountName: console", "serviceAccountName: console\n" + block("imagePullSecrets", "image.pullSecrets", "6")},
	}
}

func speakerPlaces() []place {
	return []place{
		{"image: fairlead.dev/speaker:dev", `image: {{ include "fairlead.image" (dict "root" . "program" "speaker") }}`},
		{"imagePullPolicy: IfNotPresent", "imagePullPolicy: {{ .Values.image.pullPolicy }}"},
		{"serviceAccountName: speaker", "serviceAccountName: speaker\n" + block("imagePullSecrets", "image.pullSecrets", "6")},
		{"priorityClassName: system-node-critical", "priorityClassName: {{ .Values.speaker.priorityClassName }}"},
		{"- /usr/bin/speaker", "- /usr/bin/speaker\n" + block("args", "speaker.extraArgs", "8")},
	}
}
