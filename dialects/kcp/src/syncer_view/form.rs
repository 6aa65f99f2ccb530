//! The form in which a workload cluster stores a copy, if it is not that of the copy: an equal quantity
//! (`500m` for `0.5`), no `false` or `0`, no field that the cluster does not know, or a change by its
//! admission. Since another write of the copy would change nothing, a copy in this form is up to date.

use serde_json::Value;

use super::copy::{Record, content, exact_fields_equal, has_content};

/// Form that a workload cluster gave to a copy when it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterForm {
    /// The content of the written object.
    written: Value,
    /// The content of the object in the answer to the write.
    stored: Value,
}

impl ClusterForm {
    /// The form of `stored`, the cluster's answer to the write of `written`; `None` if the answer has
    /// everything that was written.
    #[must_use]
    pub fn of(written: &Value, stored: &Value) -> Option<Self> {
        let (written, stored) = (content(written), content(stored));
        (!has_content(&stored, &written)).then_some(Self { written, stored })
    }

    /// Whether `down` still has this form, and it is that of `copy`. Fields that `copy` does not have may
    /// have changed since the write.
    #[must_use]
    pub fn is_up_to_date(&self, copy: &Value, down: &Value) -> bool {
        Record::of(down) == Record::of(copy)
            && has_content(&self.written, copy)
            && agree(down, &self.stored, copy)
            && exact_fields_equal(down, &self.stored)
    }
}

/// Whether `one` and `other` are equal in everything that `copy` has.
fn agree(one: &Value, other: &Value, copy: &Value) -> bool {
    match (one, other, copy) {
        (Value::Object(one), Value::Object(other), Value::Object(copy)) => {
            copy.iter()
                .all(|(key, copy)| match (one.get(key), other.get(key)) {
                    (Some(one), Some(other)) => agree(one, other, copy),
                    (one, other) => one == other,
                })
        }
        (Value::Array(one), Value::Array(other), Value::Array(copy))
            if one.len() == copy.len() && other.len() == copy.len() =>
        {
            let pairs = one.iter().zip(other);
            pairs
                .zip(copy)
                .all(|((one, other), copy)| agree(one, other, copy))
        }
        (one, other, _) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::copy::copy;
    use super::*;

    /// The copy of an object of `kind` with `content` in the field `field`.
    fn wanted(kind: &str, field: &str, content: Value) -> Value {
        let mut up = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "app"}});
        up[field] = content;
        copy("x", &up, "kcp1")
    }

    /// The answer of a cluster to a write of `copy`, with `content` in the field `field`.
    fn answer(copy: &Value, field: &str, content: Value) -> Value {
        let mut stored = copy.clone();
        stored["metadata"]["uid"] = "d".into();
        stored["metadata"]["resourceVersion"] = "3".into();
        stored["status"] = json!({"ready": 1});
        stored[field] = content;
        stored
    }

    #[test]
    fn defaults_and_fields_of_the_server_are_no_other_form() {
        let copy = wanted("Pod", "spec", json!({"cpu": "500m"}));
        let mut written = answer(&copy, "spec", copy["spec"].clone());
        written["metadata"]["resourceVersion"] = "2".into();
        let stored = answer(&copy, "spec", json!({"cpu": "500m", "restartPolicy": "Always"}));
        assert_eq!(ClusterForm::of(&written, &stored), None);
    }

    #[test]
    fn a_form_is_up_to_date_until_a_copied_field_changes() {
        let spec =
            json!({"cpu": 0.5, "host": false, "new": {"a": 1}, "list": [{"name": "a", "memory": "1024Mi"}]});
        let copy = wanted("Pod", "spec", spec);
        let stored = |edit: fn(&mut Value)| {
            let spec = json!({"cpu": "500m", "list": [{"name": "a", "memory": "1Gi"}]});
            let mut stored = answer(&copy, "spec", spec);
            edit(&mut stored);
            stored
        };
        let form = ClusterForm::of(&copy, &stored(|_| {})).expect("another form");
        let is_up_to_date = |edit: fn(&mut Value)| form.is_up_to_date(&copy, &stored(edit));
        assert!(is_up_to_date(|_| {}));
        assert!(is_up_to_date(|down| {
            down["status"] = json!({"ready": 2});
            down["metadata"]["resourceVersion"] = "4".into();
            down["metadata"]["labels"]["theirs"] = "1".into();
            down["spec"]["node"] = "n-1".into();
            down["spec"]["list"][0]["policy"] = "Always".into();
        }));
        assert!(!is_up_to_date(|down| down["spec"]["cpu"] = "2".into()));
        assert!(!is_up_to_date(|down| down["spec"]["host"] = true.into()));
        assert!(!is_up_to_date(
            |down| down["spec"]["list"][0]["memory"] = "2Gi".into()
        ));
        assert!(!is_up_to_date(|down| down["spec"]["list"] = json!([])));
        assert!(!is_up_to_date(|down| down["metadata"]["labels"] = json!({})));
        assert!(!is_up_to_date(|down| down["metadata"]["annotations"] = json!({})));

        let next = wanted("Pod", "spec", json!({"cpu": 0.7}));
        assert!(!form.is_up_to_date(&next, &stored(|_| {})), "of another copy");
    }

    #[test]
    fn a_list_that_admission_extends_is_a_form_as_a_whole() {
        let copy = wanted("Pod", "spec", json!({"containers": [{"name": "a"}]}));
        let stored = |image: &str| {
            let containers = json!([{"name": "a"}, {"name": "added", "image": image}]);
            answer(&copy, "spec", json!({"containers": containers}))
        };
        let form = ClusterForm::of(&copy, &stored("one")).expect("another form");
        assert!(form.is_up_to_date(&copy, &stored("one")));
        assert!(!form.is_up_to_date(&copy, &stored("two")));
    }

    #[test]
    fn the_data_of_a_secret_has_the_keys_of_the_form_and_no_others() {
        let copy = wanted("Secret", "stringData", json!({"a": "1"}));
        let stored = |data: Value| {
            let mut stored = answer(&copy, "data", data);
            stored.as_object_mut().unwrap().remove("stringData");
            stored
        };
        let form = ClusterForm::of(&copy, &stored(json!({"a": "MQ=="}))).expect("another form");
        assert!(form.is_up_to_date(&copy, &stored(json!({"a": "MQ=="}))));
        assert!(!form.is_up_to_date(&copy, &stored(json!({"a": "MQ==", "b": "MQ=="}))));
    }

    #[test]
    fn a_write_of_other_content_says_nothing_about_the_copy() {
        let copy = wanted("Pod", "spec", json!({"cpu": 0.5}));
        let (written, stored) = (
            answer(&copy, "spec", json!({"cpu": 2})),
            answer(&copy, "spec", json!({"cpu": "2"})),
        );
        let form = ClusterForm::of(&written, &stored).expect("another form");
        assert!(!form.is_up_to_date(&copy, &stored));
    }
}
