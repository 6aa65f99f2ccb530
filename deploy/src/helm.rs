//! The Helm chart's templates, from the same objects as everything else: what a user may choose becomes a condition, what
//! a user may set stands in them as a mark, and both become Helm actions in the text.

mod choices;
mod schema;
mod template;
mod tree;
mod uninstall;

use anyhow::Result;
use berth::cli::Storage;
use berth::hub::args::Place;
use berth::manifests::{
    Certificates, Installation, api_service, cluster_roles, hub_sources, owned_api_services, owned_roles,
    publications, registration_rights, scheduler_configurations, server_rights, service_monitor,
    system_definitions, trusted, webhooks, workload, yaml,
};
use serde_json::{Value, json};

use crate::HEADER;
pub use choices::{Chosen, systems};
use choices::{When, points};
use tree::Node;
use uninstall::uninstall;

/// Every file that is rendered, below `deploy/helm/berth/`, with its text.
///
/// # Errors
/// When an object has no form in YAML, or in a template.
pub fn chart() -> Result<Vec<(String, String)>> {
    let mut files = vec![
        (
            "crds/schedulerconfigurations.yaml".to_owned(),
            format!("{HEADER}{}", yaml(&[scheduler_configurations()])?),
        ),
        (
            "crds/publications.yaml".to_owned(),
            format!("{HEADER}{}", yaml(&[publications()])?),
        ),
        ("values.schema.json".to_owned(), schema::text()?),
        ("templates/uninstall.yaml".to_owned(), {
            let hook = yaml(&uninstall(&Installation::on_hub()))?;
            template(&marks(&hook))
        }),
    ];
    for part in PARTS {
        let all = Part::of(part.objects)?;
        let text = marks(&all.text()?);
        let text = match part.switch {
            Some(switch) => format!("{{{{- if {switch} }}}}\n{text}{{{{- end }}}}\n"),
            None => text,
        };
        files.push((format!("templates/{}.yaml", part.file), template(&text)));
    }
    for dialect in &Installation::default().dialects {
        for mut definition in system_definitions([dialect]) {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            let file = format!("{DEFINITIONS}/{}/{name}.yaml", dialect.name());
            // Whoever takes Berth away keeps the systems' objects.
            definition["metadata"]["annotations"][KEEP] = json!("keep");
            files.push((file, format!("{HEADER}{}", yaml(&[definition])?)));
        }
    }
    Ok(files)
}

/// The folder of the systems' definitions, which `templates/definitions.yaml` reads.
const DEFINITIONS: &str = "files/definitions";
/// The annotation of what stays when a release goes.
const KEEP: &str = "helm.sh/resource-policy";

/// One template.
struct File {
    file: &'static str,
    objects: Objects,
    /// The value that turns it on, where one does.
    switch: Option<&'static str>,
}

const PARTS: [File; 8] = [
    File {
        file: "apiservices",
        objects: |installation| {
            let service = &installation.service;
            let mut all = vec![api_service(service)];
            all.extend(owned_api_services(service, installation.owned_dialects()));
            trusted(installation, all)
        },
        switch: None,
    },
    File {
        file: "network-policy",
        objects: |installation| {
            let mut all = workload(installation);
            all.retain(|object| object["kind"] == "NetworkPolicy");
            all
        },
        switch: Some(".Values.networkPolicy.enabled"),
    },
    File {
        file: "rbac",
        objects: |installation| {
            let mut all = server_rights(&installation.service);
            all.extend(cluster_roles(&installation.dialects));
            all
        },
        switch: None,
    },
    File {
        file: "registration-rbac",
        objects: registration_rights,
        switch: None,
    },
    File {
        file: "service-monitor",
        objects: |installation| vec![service_monitor(installation)],
        switch: Some(".Values.serviceMonitor.enabled"),
    },
    File {
        file: "sources-rbac",
        objects: |installation| {
            let mut all = hub_sources(installation);
            all.extend(owned_roles(installation.owned_dialects()));
            all
        },
        switch: None,
    },
    File {
        file: "webhooks",
        objects: |installation| trusted(installation, webhooks(installation).to_vec()),
        switch: None,
    },
    File {
        file: "workload",
        objects: work,
        switch: None,
    },
];

/// The objects of a template, for all choices.
pub struct Part {
    tree: Node,
    everywhere: When,
}

impl Part {
    /// Puts together what `objects` gives for every choice.
    ///
    /// # Errors
    /// When the renderings do not fit together.
    fn of(objects: Objects) -> Result<Self> {
        let at = |chosen: &Chosen| Value::Array(objects(&chosen.installation()));
        let points: Vec<_> = points()
            .iter()
            .map(|(point, chosen)| (*point, at(chosen)))
            .collect();
        // What stands where among others is seen where all of them are.
        let full = [
            (Place::Hub, Certificates::Berth, Storage::Etcd),
            (Place::Owned, Certificates::Berth, Storage::Etcd),
            (Place::Owned, Certificates::CertManager, Storage::Embedded),
        ];
        let full = full.map(|(place, certificates, storage)| {
            at(&Chosen {
                sources: systems().into_iter().map(|name| (name, place)).collect(),
                certificates,
                storage,
            })
        });
        let mut renderings: Vec<tree::Rendering<'_>> = full.iter().map(|value| (None, value)).collect();
        renderings.extend(points.iter().map(|(point, value)| (Some(*point), value)));
        Ok(Self {
            tree: Node::merge(&renderings)?,
            everywhere: points.iter().map(|(point, _)| *point).collect(),
        })
    }

    fn text(&self) -> Result<String> {
        template::documents(&self.tree, &self.everywhere)
    }

    /// The objects for what was chosen, as the template's conditions give them.
    ///
    /// # Errors
    /// When the conditions do not decide something.
    pub fn at(&self, chosen: &Chosen) -> Result<Value> {
        self.tree.at(chosen, &self.everywhere)
    }
}

/// The objects an installation has in one file.
pub type Objects = fn(&Installation) -> Vec<Value>;

/// Every template, by file name, with what it is to come to for an installation.
///
/// # Errors
/// When renderings do not fit together.
pub fn parts() -> Result<Vec<(&'static str, Part, Objects)>> {
    let all = PARTS.into_iter();
    all.map(|part| Ok((part.file, Part::of(part.objects)?, part.objects)))
        .collect()
}

/// Helm's comment keeps the note on where a file comes from out of what is applied. The namespace is the release's.
fn template(text: &str) -> String {
    let header: String = HEADER
        .lines()
        .map(|line| format!("{{{{- /* {} */}}}}\n", line.trim_start_matches("# ")))
        .collect();
    let namespace = &Installation::default().service.namespace;
    format!("{header}{}", text.replace(namespace, "{{ .Release.Namespace }}"))
}

/// What runs, with marks where the user has a say.
fn work(installation: &Installation) -> Vec<Value> {
    let mut all = workload(installation);
    all.retain(|object| object["kind"] != "NetworkPolicy");
    for object in &mut all {
        if object["kind"] == "PersistentVolumeClaim" {
            object["metadata"]["annotations"] = json!({KEEP: "keep"});
            object["spec"]["resources"]["requests"]["storage"] = json!("MARK-SIZE");
            object["spec"]["storageClassName"] = json!("MARK-STORAGE-CLASS");
        }
        if object["kind"] == "Deployment" {
            object["spec"]["replicas"] = json!("MARK-REPLICAS");
            let container = &mut object["spec"]["template"]["spec"]["containers"][0];
            container["image"] = json!("MARK-IMAGE");
            container["imagePullPolicy"] = json!("MARK-PULL-POLICY");
            container["resources"] = json!("MARK-RESOURCES");
            if let Some(arguments) = container["args"].as_array_mut() {
                for argument in arguments.iter_mut() {
                    let is_servers = argument
                        .as_str()
                        .is_some_and(|text| text.starts_with("--etcd-servers="));
                    if is_servers {
                        *argument = json!("--etcd-servers=MARK-SERVERS");
                    }
                }
                arguments.push(json!("MARK-ARGUMENTS"));
            }
        }
    }
    all
}

/// What a user may say of Pods: where they run, and where their image comes from.
const POD: &str = "      {{- with .Values.imagePullSecrets }}
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
";

/// The volumes of the server, before those that are always there.
const VOLUMES: &str = "      volumes:
      {{- if eq (include \"berth.storage\" .) \"etcd\" }}
      - name: etcd
        secret:
          secretName: {{ .Values.etcd.secretName }}
      {{- end }}
";

const MOUNTS: &str = "        volumeMounts:
        {{- if eq (include \"berth.storage\" .) \"etcd\" }}
        - name: etcd
          mountPath: /etc/berth/etcd
          readOnly: true
        {{- end }}
";

/// The user's own arguments, after all others.
const ARGUMENTS: &str = "        {{- range .Values.extraArgs }}
        - {{ . | quote }}
        {{- end }}
";

const STORAGE_CLASS: &str = "  {{- with .Values.persistence.storageClassName }}
  storageClassName: {{ . | quote }}
  {{- end }}
";

/// The text with actions in place of the marks.
fn marks(text: &str) -> String {
    let image = "\"{{ .Values.image.repository }}:{{ .Values.image.tag | default (printf \"v%s\" .Chart.AppVersion) }}\"";
    text.replace("        - MARK-ARGUMENTS\n", ARGUMENTS)
        .replace("      placement: MARK-POD\n", POD)
        .replace("      volumes:\n", &format!("{POD}{VOLUMES}"))
        .replace("        volumeMounts:\n", MOUNTS)
        .replace("  storageClassName: MARK-STORAGE-CLASS\n", STORAGE_CLASS)
        .replace("MARK-SIZE", "{{ .Values.persistence.size }}")
        .replace("MARK-IMAGE", image)
        .replace("MARK-PULL-POLICY", "{{ .Values.image.pullPolicy }}")
        .replace(" MARK-RESOURCES", " {{- toYaml .Values.resources | nindent 10 }}")
        .replace("MARK-REPLICAS", "{{ .Values.replicas }}")
        .replace("MARK-SERVERS", "{{ join \",\" .Values.etcd.servers }}")
}
