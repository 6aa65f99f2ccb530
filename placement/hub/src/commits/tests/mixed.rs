//! Lists of writes to the hub and to what is stored here.

use super::*;

const PARTS: GroupResource = GroupResource::new("example.com", "parts");

/// A store of its own: notes what it is to commit, and does so or refuses.
#[derive(Default)]
struct Own {
    commits: Mutex<Vec<(Vec<Key>, Vec<Guard>)>>,
    refuses: bool,
}

#[async_trait]
impl Committer for Own {
    async fn commit(&self, commit: Commit) -> Result<Vec<Arc<Object>>, CommitError> {
        let keys = commit.writes.iter().map(|write| write.key.clone());
        self.commits.lock().push((keys.collect(), commit.guards));
        if self.refuses {
            return Err(Status::failure(403, "Forbidden", "as the test says").into());
        }
        let stored = commit.writes.iter();
        let stored = stored.map(|write| Arc::new(Object::new(&write.object, Revision(9)).unwrap()));
        Ok(stored.collect())
    }
}

fn part(name: &str) -> Write {
    Write {
        verb: Verb::Update,
        key: Key::new(PARTS, "", name),
        subresource: "",
        object: json!({"apiVersion": "example.com/v1", "kind": "Part", "metadata": {"name": name}}),
        base: Some(Revision(3)),
    }
}

fn unchanged(write: &Write) -> Guard {
    Guard::Unchanged {
        key: write.key.clone(),
        revision: write.base.unwrap(),
    }
}

fn names(objects: &[Arc<Object>]) -> Vec<&str> {
    objects.iter().map(|object| object.meta().name()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_write_of_a_mixed_list_goes_where_its_object_is_in_order() {
    let own = Arc::new(Own::default());
    let world = World::beside(Arc::clone(&own) as Arc<dyn Committer>, Some("5"), |_| {
        (200, at("6", &json!({})))
    })
    .await;
    let mut commit = world.commit(Verb::Update);
    commit.guards = vec![unchanged(&commit.writes[0])];
    commit.writes.insert(0, part("before"));
    commit.writes.extend([part("after"), part("last")]);
    let made = world.committer.commit(commit).await.unwrap();
    assert_eq!(names(&made), ["before", "a", "after", "last"]);
    let asked = world.asked.lock().clone();
    let [(line, user, _)] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert_eq!(line, "PUT /apis/example.com/v1/namespaces/ns/things/a");
    assert_eq!(user, "berth:scheduler");
    let key = |name: &str| Key::new(PARTS, "", name);
    // That the copy is as it was is looked at before; the write to the hub changes it.
    assert_eq!(
        *own.commits.lock(),
        [
            (vec![key("before")], Vec::new()),
            (vec![key("after"), key("last")], Vec::new()),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_here_is_guarded_once_and_what_it_refuses_ends_the_list() {
    let own = Arc::new(Own {
        refuses: true,
        ..Own::default()
    });
    let world = World::beside(Arc::clone(&own) as Arc<dyn Committer>, Some("5"), |_| {
        (200, at("6", &json!({})))
    })
    .await;
    let step = Step {
        verb: Verb::Create,
        key: Key::new(PARTS, "", "first"),
        subresource: "",
        object: Some(Draft::new(&part("first").object).unwrap()),
        expect: Expect::Absent,
        guards: Vec::new(),
    };
    world.store.apply(vec![step]).await.unwrap();
    let mut first = part("first");
    first.base = world
        .store
        .cached(PARTS)
        .get("", "first")
        .map(|object| object.revision());
    let mut commit = world.commit(Verb::Update);
    commit.guards = vec![unchanged(&first)];
    commit.writes.insert(0, first.clone());
    let refused = world.committer.commit(commit).await;
    assert!(
        matches!(&refused, Err(error) if error.reason == WriteRefusal::Refused && error.status.code == 403),
        "{refused:?}"
    );
    assert!(world.asked.lock().is_empty(), "nothing comes after it");
    assert_eq!(
        *own.commits.lock(),
        [(vec![first.key.clone()], vec![unchanged(&first)])]
    );
}
