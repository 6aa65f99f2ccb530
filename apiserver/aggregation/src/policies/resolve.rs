//! Resolution of the host of a webhook: by DNS, or by reading the Service from the hub, whose cluster DNS
//! this program may be unable to use.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use berth_client::root_cause;
use hyper_util::client::legacy::connect::dns::Name;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use kube::{Api, Client};

/// Future result of a resolution, in the type that the HTTP connector requires.
type ResolvedAddresses = Pin<Box<dyn Future<Output = io::Result<std::vec::IntoIter<SocketAddr>>> + Send>>;

/// Resolver of the addresses of one webhook.
#[derive(Clone)]
pub(super) enum Resolver {
    /// Resolution of the host in the URL by DNS.
    Dns,
    /// Resolution of a Service by reading it from the hub for each new connection.
    Service {
        client: Client,
        namespace: String,
        name: String,
        port: u16,
    },
}

impl tower::Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = ResolvedAddresses;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, host: Name) -> ResolvedAddresses {
        match self.clone() {
            Self::Dns => Box::pin(async move { look_up(host.as_str(), 0).await }),
            Self::Service {
                client,
                namespace,
                name,
                port,
            } => Box::pin(async move { resolve_service(client, &namespace, &name, port).await }),
        }
    }
}

async fn look_up(host: &str, port: u16) -> io::Result<std::vec::IntoIter<SocketAddr>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
    if found.is_empty() {
        return Err(io::Error::other(format!("the host {host:?} has no address")));
    }
    Ok(found.into_iter())
}

async fn resolve_service(
    client: Client,
    namespace: &str,
    name: &str,
    port: u16,
) -> io::Result<std::vec::IntoIter<SocketAddr>> {
    let services: Api<Service> = Api::namespaced(client, namespace);
    let spec = match services.get_opt(name).await {
        Ok(Some(service)) => service.spec.unwrap_or_default(),
        Ok(None) => {
            return Err(io::Error::other(format!(
                "service \"{namespace}/{name}\" not found"
            )));
        }
        Err(problem) => {
            let text = format!(
                "cannot read service \"{namespace}/{name}\": {}",
                root_cause(&problem)
            );
            return Err(io::Error::other(text));
        }
    };
    match service_address(&spec, port)
        .map_err(|problem| io::Error::other(format!("service \"{namespace}/{name}\" {problem}")))?
    {
        ServiceAddress::ClusterIp(address) => Ok(vec![SocketAddr::new(address, port)].into_iter()),
        ServiceAddress::ExternalName(host) => look_up(&host, port).await,
    }
}

/// Address of a Service.
#[derive(Debug, PartialEq, Eq)]
enum ServiceAddress {
    ClusterIp(IpAddr),
    ExternalName(String),
}

/// Returns the address of a Service: the cluster IP, or for the type ExternalName the external name.
///
/// # Errors
/// When the Service has no such address, or is not of type ExternalName and lacks `port`.
fn service_address(spec: &ServiceSpec, port: u16) -> Result<ServiceAddress, String> {
    if spec.type_.as_deref() == Some("ExternalName") {
        return match spec.external_name.as_deref() {
            None | Some("") => Err("is of type ExternalName and has no externalName".to_owned()),
            Some(host) => Ok(ServiceAddress::ExternalName(host.to_owned())),
        };
    }
    let mut ports = spec.ports.iter().flatten();
    if !ports.any(|known| known.port == i32::from(port)) {
        return Err(format!("has no port {port}"));
    }
    let address = spec.cluster_ip.as_deref().unwrap_or_default();
    address.parse().map(ServiceAddress::ClusterIp).map_err(|_| {
        format!("has no cluster IP ({address:?}): the Service of a webhook needs a cluster IP or the type ExternalName")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_service_has_a_cluster_ip_or_an_external_name() {
        let address_of = |spec: Value| service_address(&serde_json::from_value(spec).unwrap(), 443);
        let host = address_of(json!({"type": "ExternalName", "externalName": "localhost"}));
        assert_eq!(host, Ok(ServiceAddress::ExternalName("localhost".to_owned())));
        let ports = json!([{"port": 443}]);
        let address = address_of(json!({"clusterIP": "10.0.0.7", "ports": ports}));
        assert_eq!(address, Ok(ServiceAddress::ClusterIp([10, 0, 0, 7].into())));
        for (spec, part) in [
            (json!({"type": "ExternalName"}), "no externalName"),
            (json!({"clusterIP": "None", "ports": ports}), "no cluster IP"),
            (
                json!({"clusterIP": "10.0.0.7", "ports": [{"port": 80}]}),
                "no port 443",
            ),
        ] {
            let problem = address_of(spec).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
