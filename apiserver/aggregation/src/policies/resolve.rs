//! Resolution of a webhook's host: in DNS, or as a Service of the hub, which may be unknown in this program's
//! DNS.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use berth_client::root_cause;
use hyper_util::client::legacy::connect::dns::Name;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use kube::{Api, Client};

/// Future addresses, in the connector's type.
type ResolvedAddresses = Pin<Box<dyn Future<Output = io::Result<std::vec::IntoIter<SocketAddr>>> + Send>>;

/// Resolver of the addresses of one webhook.
#[derive(Clone)]
pub(super) enum Resolver {
    /// DNS, for the host of the URL.
    Dns,
    /// The Service, whose object is read for each new connection.
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
            } => Box::pin(async move { of_service(client, &namespace, &name, port).await }),
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

async fn of_service(
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
            let text = format!("reading service \"{namespace}/{name}\": {}", root_cause(&problem));
            return Err(io::Error::other(text));
        }
    };
    match place(&spec, port)
        .map_err(|problem| io::Error::other(format!("service \"{namespace}/{name}\" {problem}")))?
    {
        Place::Address(address) => Ok(vec![SocketAddr::new(address, port)].into_iter()),
        Place::Host(host) => look_up(&host, port).await,
    }
}

/// Address of a Service.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Address(IpAddr),
    Host(String),
}

/// Returns the address of the Service outside of the cluster's DNS.
fn place(spec: &ServiceSpec, port: u16) -> Result<Place, String> {
    if spec.type_.as_deref() == Some("ExternalName") {
        return match spec.external_name.as_deref() {
            None | Some("") => Err("is of type ExternalName and has no externalName".to_owned()),
            Some(host) => Ok(Place::Host(host.to_owned())),
        };
    }
    let mut ports = spec.ports.iter().flatten();
    if !ports.any(|known| known.port == i32::from(port)) {
        return Err(format!("has no port {port}"));
    }
    let address = spec.cluster_ip.as_deref().unwrap_or_default();
    address.parse().map(Place::Address).map_err(|_| {
        format!("has no cluster IP ({address:?}): webhooks are called through a Service with one, or of type ExternalName")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_service_is_at_its_cluster_ip_or_its_external_name() {
        let of = |spec: Value| place(&serde_json::from_value(spec).unwrap(), 443);
        let host = of(json!({"type": "ExternalName", "externalName": "localhost"}));
        assert_eq!(host, Ok(Place::Host("localhost".to_owned())));
        let ports = json!([{"port": 443}]);
        let address = of(json!({"clusterIP": "10.0.0.7", "ports": ports}));
        assert_eq!(address, Ok(Place::Address([10, 0, 0, 7].into())));
        for (spec, part) in [
            (json!({"type": "ExternalName"}), "no externalName"),
            (json!({"clusterIP": "None", "ports": ports}), "no cluster IP"),
            (
                json!({"clusterIP": "10.0.0.7", "ports": [{"port": 80}]}),
                "no port 443",
            ),
        ] {
            let problem = of(spec).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
