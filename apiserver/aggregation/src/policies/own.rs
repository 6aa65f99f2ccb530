//! Recognition of this server's own webhooks, which are not called: for objects that this server stores, its
//! plugins run in-process.

use berth_admission::client::Endpoint;

/// Addresses of this server.
#[derive(Clone, Debug, Default)]
pub struct OwnAddresses {
    /// Names in the serving certificate, such as `<service>.<namespace>.svc`.
    pub names: Vec<String>,
    /// Ports on which the server listens.
    pub ports: Vec<u16>,
    /// URL paths of the server's own webhooks, such as `/admission/mutate`.
    pub paths: &'static [&'static str],
}

impl OwnAddresses {
    /// Whether `endpoint` is the address of a webhook of this server.
    pub(super) fn includes(&self, endpoint: &Endpoint) -> bool {
        match endpoint {
            Endpoint::Service {
                namespace,
                name,
                path,
                ..
            } => self.paths.contains(&path.as_str()) && self.is_named(&format!("{name}.{namespace}.svc")),
            Endpoint::Url(url) => {
                let Ok(url) = url.parse::<http::Uri>() else {
                    return false;
                };
                let host = url.host().unwrap_or_default();
                let is_own_host = is_loopback(host) || self.is_named(host);
                self.paths.contains(&url.path())
                    && is_own_host
                    && self.ports.contains(&url.port_u16().unwrap_or(443))
            }
        }
    }

    fn is_named(&self, host: &str) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_webhook_is_recognized_by_service_or_address_and_path() {
        let own = OwnAddresses {
            names: vec!["berth.berth-system.svc".to_owned()],
            ports: vec![7443],
            paths: &["/admission/mutate", "/admission/validate"],
        };
        let service = |name: &str, path: &str| Endpoint::Service {
            namespace: "berth-system".to_owned(),
            name: name.to_owned(),
            path: path.to_owned(),
            port: 443,
        };
        let url = |url: &str| Endpoint::Url(url.to_owned());
        for (endpoint, is_own) in [
            (service("berth", "/admission/mutate"), true),
            (service("berth", "/other"), false),
            (service("policy", "/admission/mutate"), false),
            (url("https://localhost:7443/admission/validate"), true),
            (url("https://[::1]:7443/admission/validate"), true),
            (
                url("https://berth.berth-system.svc:7443/admission/validate"),
                true,
            ),
            (url("https://localhost:8443/admission/validate"), false),
            (url("https://elsewhere:7443/admission/validate"), false),
            (url("https://localhost:7443/validate"), false),
            (url("::"), false),
        ] {
            assert_eq!(own.includes(&endpoint), is_own, "{endpoint:?}");
        }
    }
}
