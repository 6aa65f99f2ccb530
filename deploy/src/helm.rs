//! The Helm chart's templates, from the same objects as everything else: what a user may set stands in them as a mark,
//! which becomes a Helm action in the text.

use anyhow::Result;
use berth::manifests::{
    Installation, Set, api_service, cluster_roles, hub_sources, objects, owned_api_services, owned_roles,
    registration_rights, scheduler_configurations, server_rights, service_monitor, webhooks, workload, yaml,
};
use serde_json::{Value, json};

use crate::{HEADER, hub, owned_etcd};

/// Helm's comment keeps the note on where a file comes from out of what is applied.
fn header() -> String {
    HEADER
        .lines()
        .map(|line| format!("{{{{- /* {} */}}}}\n", line.trim_start_matches("# ")))
        .collect()
}

const ON_HUB: &str = "eq .Values.mode \"hub\"";

/// Every file that is rendered, below `deploy/helm/berth/`, with its text.
///
/// # Errors
/// When an object has no form in YAML.
pub fn chart() -> Result<Vec<(&'static str, String)>> {
    let (hub, owned) = (hub(), owned_etcd());
    let service = &hub.service;
    let template = |text: String| format!("{}{}", header(), in_release(&text));
    let either = |on_hub: &[Value], here: &[Value]| -> Result<String> {
        Ok(format!(
            "{{{{- if {ON_HUB} }}}}\n{}{{{{- else }}}}\n{}{{{{- end }}}}\n",
            yaml(on_hub)?,
            yaml(here)?
        ))
    };
    let if_set = |condition: &str, objects: &[Value]| -> Result<String> {
        Ok(format!(
            "{{{{- if {condition} }}}}\n{}{{{{- end }}}}\n",
            yaml(objects)?
        ))
    };
    let own_services = owned_api_services(service, owned.owned_dialects());
    Ok(vec![
        (
            "crds/schedulerconfigurations.yaml",
            format!("{HEADER}{}", yaml(&[scheduler_configurations()])?),
        ),
        (
            "templates/apiservices.yaml",
            template(format!(
                "{}{}",
                yaml(&[api_service(service)])?,
                if_set(&format!("not ({ON_HUB})"), &own_services)?
            )),
        ),
        (
            "templates/rbac.yaml",
            template(format!(
                "{}{}",
                yaml(&server_rights(service))?,
                yaml(&cluster_roles())?
            )),
        ),
        (
            "templates/registration-rbac.yaml",
            template(either(&registration_rights(&hub), &registration_rights(&owned))?),
        ),
        (
            "templates/service-monitor.yaml",
            template(if_set(
                ".Values.serviceMonitor.enabled",
                &[service_monitor(&hub)],
            )?),
        ),
        (
            "templates/sources-rbac.yaml",
            template(either(
                &hub_sources(service, hub.hub_dialects()),
                &owned_roles(owned.owned_dialects()),
            )?),
        ),
        (
            "templates/uninstall.yaml",
            template(marks(&yaml(&uninstall(&hub))?)),
        ),
        (
            "templates/webhooks.yaml",
            template(either(&webhooks(&hub), &webhooks(&owned))?),
        ),
        ("templates/workload.yaml", template(work(&hub, &owned)?)),
    ])
}

/// The namespace is the release's.
fn in_release(text: &str) -> String {
    let namespace = &Installation::default().service.namespace;
    text.replace(namespace, "{{ .Release.Namespace }}")
}

/// What runs: the Deployment's marks, and what differs by where the systems' objects are.
fn work(hub: &Installation, owned: &Installation) -> Result<String> {
    let mut text = String::new();
    for mut object in workload(hub) {
        if object["kind"] == "Deployment" {
            let pod = &mut object["spec"]["template"]["spec"];
            pod["containers"][0]["args"] = json!(["MARK-ARGUMENTS"]);
            pod["containers"][0]["image"] = json!("MARK-IMAGE");
            pod["containers"][0]["imagePullPolicy"] = json!("MARK-PULL-POLICY");
            pod["containers"][0]["resources"] = json!("MARK-RESOURCES");
            object["spec"]["replicas"] = json!("MARK-REPLICAS");
            let written = yaml(&[object])?;
            text.push_str(
                &marks(&written)
                    .replace("        - MARK-ARGUMENTS\n", &arguments(hub, owned))
                    .replace("      volumes:\n", POD)
                    .replace("        volumeMounts:\n", MOUNTS),
            );
        } else if object["kind"] == "NetworkPolicy" {
            let policy = yaml(&[object])?;
            text.push_str(&format!(
                "{{{{- if .Values.networkPolicy.enabled }}}}\n{policy}{{{{- end }}}}\n"
            ));
        } else {
            text.push_str(&yaml(&[object])?);
        }
    }
    Ok(text)
}

/// What a user may say of the Pod beside.
const POD: &str = "\
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      volumes:
      {{- if not (eq .Values.mode \"hub\") }}
      - name: etcd
        secret:
          secretName: {{ .Values.etcd.secretName }}
      {{- end }}
";

const MOUNTS: &str = "        volumeMounts:
        {{- if not (eq .Values.mode \"hub\") }}
        - name: etcd
          mountPath: /etc/berth/etcd
          readOnly: true
        {{- end }}
";

fn marks(text: &str) -> String {
    text.replace(
        "MARK-IMAGE",
        "\"{{ .Values.image.repository }}:{{ .Values.image.tag | default (printf \"v%s\" .Chart.AppVersion) }}\"",
    )
    .replace("MARK-PULL-POLICY", "{{ .Values.image.pullPolicy }}")
    .replace("MARK-RESOURCES", "{{- toYaml .Values.resources | nindent 10 }}")
    .replace("MARK-REPLICAS", "{{ .Values.replicas }}")
}

/// The arguments: those that are the same, those of either mode, and the user's.
fn arguments(hub: &Installation, owned: &Installation) -> String {
    let of = |installation: &Installation| -> Vec<String> {
        let objects = objects(installation, Set::Workload);
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
        let arguments = deployment.map(|object| &object["spec"]["template"]["spec"]["containers"][0]["args"]);
        let arguments = arguments.and_then(Value::as_array).into_iter().flatten();
        arguments.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (on_hub, here) = (of(hub), of(owned));
    let line = |argument: &String| -> String {
        if argument.starts_with("--etcd-servers=") {
            "        - --etcd-servers={{ join \",\" .Values.etcd.servers | required \"etcd.servers is needed with mode owned\" }}\n"
                .to_owned()
        } else {
            format!("        - {argument}\n")
        }
    };
    let same: String = on_hub.iter().filter(|one| here.contains(one)).map(line).collect();
    let hub_only: String = on_hub
        .iter()
        .filter(|one| !here.contains(one))
        .map(line)
        .collect();
    let owned_only: String = here
        .iter()
        .filter(|one| !on_hub.contains(one))
        .map(line)
        .collect();
    format!(
        "{same}        {{{{- if {ON_HUB} }}}}\n{hub_only}        {{{{- else }}}}\n{owned_only}        {{{{- end }}}}\n\
         \x20       {{{{- range .Values.extraArgs }}}}\n        - {{{{ . | quote }}}}\n        {{{{- end }}}}\n"
    )
}

/// The hook that takes Berth out of the hub's registrations before anything else of the release goes.
fn uninstall(installation: &Installation) -> Vec<Value> {
    let service = &installation.service;
    let name = format!("{}-uninstall", service.name);
    let metadata = |namespaced: bool, weight: &str| {
        let mut metadata = json!({
            "name": if namespaced { name.clone() } else { "berth:uninstall".to_owned() },
            "annotations": {
                "helm.sh/hook": "pre-delete",
                "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
                "helm.sh/hook-weight": weight,
            },
        });
        if namespaced {
            metadata["namespace"] = json!(service.namespace);
        }
        metadata
    };
    let rbac = "rbac.authorization.k8s.io";
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(true, "-2")}),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRole",
            "metadata": metadata(false, "-2"),
            "rules": [
                {
                    "apiGroups": [rbac],
                    "resources": ["clusterroles", "clusterrolebindings"],
                    "resourceNames": ["berth:self-registration"],
                    "verbs": ["delete"],
                },
                {
                    "apiGroups": ["admissionregistration.k8s.io"],
                    "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
                    "resourceNames": [service.name],
                    "verbs": ["get", "delete"],
                },
                {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["list", "delete"]},
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": metadata(false, "-2"),
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "berth:uninstall"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": service.namespace}],
        }),
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata(true, "-1"),
            "spec": {
                "backoffLimit": 3,
                "template": {"spec": {
                    "serviceAccountName": name,
                    "restartPolicy": "Never",
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 65532,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [{
                        "name": "uninstall",
                        "image": "MARK-IMAGE",
                        "args": ["uninstall", "--registration-only", format!("--namespace={}", service.namespace)],
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    }],
                }},
            },
        }),
    ]
}
