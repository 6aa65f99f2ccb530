//! Writes of a Scale beside other writes of its Deployment.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_admission::{Chain, Plugin, Ready, Request, UserInfo};
use berth_apimachinery::write::{Verb, Write};
use berth_apimachinery::{Clock, Timestamp};
use berth_apiserver::{
    Access, Annotations, Attributes, Author, Authorizer, DelegationError, Query, Warnings,
};
use berth_storage::{MemoryStore, Store};

use super::*;
use crate::core::{add_registry_subresources, groups};

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

struct Everyone;

#[async_trait]
impl Authorizer for Everyone {
    async fn authorize(&self, _: &Attributes) -> Result<Access, DelegationError> {
        Ok(Access::Allow(String::new()))
    }
}

/// Sets another image in the Deployment during the admission of each of the first `writes` writes of `scale`.
#[derive(Default)]
struct Rollout {
    registry: OnceLock<Arc<Registry>>,
    writes: usize,
    written: AtomicUsize,
}

impl Plugin for Rollout {
    fn name(&self) -> &'static str {
        "rollout"
    }
    fn handles(&self, request: &Request<'_>) -> bool {
        request.subresource == "scale"
    }
    fn ready<'a>(&'a self, _: &Request<'_>) -> Option<Ready<'a>> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        (number < self.writes).then(|| -> Ready<'a> {
            Box::pin(async move {
                let registry = self.registry.get().unwrap();
                let mut deployment = registry.get(&key()).await?.parse();
                let image = format!("web:{}", number + 2);
                deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
                write(registry, Verb::Update, deployment).await.map(drop)
            })
        })
    }
}

fn key() -> Key {
    Key::new(RESOURCE, "app", "web")
}

async fn write(registry: &Registry, verb: Verb, object: Value) -> Result<Arc<Object>, Status> {
    let user = UserInfo::default();
    let author = Author {
        user: &user,
        manager: "test",
        cause: None,
    };
    let write = Write {
        verb,
        key: key(),
        subresource: "",
        object,
        base: None,
    };
    let mut written = registry.commit(author, vec![write], Vec::new(), false).await?;
    Ok(written.pop().unwrap())
}

/// A server with the Deployment `web`, and the writes that [`Rollout`] makes.
async fn world(writes: usize) -> (Arc<Registry>, Arc<Rollout>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let rollout = Arc::new(Rollout {
        writes,
        ..Rollout::default()
    });
    let chain = Chain::new(vec![Arc::clone(&rollout) as Arc<dyn Plugin>]);
    let builder = Registry::builder(chain, Arc::new(Now));
    let mut groups = groups(&store);
    add_registry_subresources(&mut groups, builder.handle());
    let registry = builder.build(&groups).unwrap();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "app"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    });
    write(&registry, Verb::Create, deployment).await.unwrap();
    assert!(rollout.registry.set(Arc::clone(&registry)).is_ok());
    (registry, rollout)
}

async fn put(registry: &Arc<Registry>, body: Value) -> Result<Reply, Status> {
    let call = Call {
        manager: "kubectl".to_owned(),
        user: UserInfo::default(),
        version: "v1".to_owned(),
        namespace: "app".to_owned(),
        name: "web".to_owned(),
        now: Timestamp::UNIX_EPOCH,
        query: Query::default(),
        dry_run: false,
        warnings: Warnings::default(),
        annotations: Annotations::default(),
        authorizer: Arc::new(Everyone),
    };
    Scale(Arc::clone(registry)).update(&call, body).await
}

fn image(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]["image"]
}

#[tokio::test]
async fn a_scale_without_a_version_keeps_what_others_change_meanwhile() {
    let (registry, rollout) = world(3).await;
    let body = json!({"metadata": {"name": "web"}, "spec": {"replicas": 5}});
    put(&registry, body).await.unwrap();
    let deployment = registry.get(&key()).await.unwrap().parse();
    assert_eq!(deployment["spec"]["replicas"], 5);
    assert_eq!(*image(&deployment), "web:4");
    assert_eq!(rollout.written.load(Ordering::Relaxed), 4, "attempts");
}

#[tokio::test]
async fn a_scale_with_a_version_or_uid_is_refused_after_a_change() {
    let (registry, _) = world(1).await;
    let revision = registry.get(&key()).await.unwrap().revision().to_string();
    let body = json!({"metadata": {"name": "web", "resourceVersion": revision}, "spec": {"replicas": 5}});
    assert_eq!(put(&registry, body).await.unwrap_err().code, 409);
    let body = json!({"metadata": {"name": "web", "uid": "other"}, "spec": {"replicas": 5}});
    assert_eq!(put(&registry, body).await.unwrap_err().code, 409);
    let deployment = registry.get(&key()).await.unwrap().parse();
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(*image(&deployment), "web:2");
}
