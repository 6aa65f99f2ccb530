//! The table of candidates.

use berth_apimachinery::{Kind as _, Revision};
use serde_json::json;

use super::*;

#[test]
fn rows_of_several_decisions_say_which_decision_they_are_of() {
    let kind = namespaced();
    let candidate = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Candidate",
        "metadata": {"namespace": "ns", "name": "web.gardener.aws-eu1.gardener"},
        "spec": {"decision": "web.gardener", "target": "aws-eu1.gardener"},
        "status": {"clusterName": "aws-eu1", "target": "aws-eu1.gardener", "feasible": true, "picked": true, "rejections": []},
    });
    let object = Object::new(&candidate, Revision(1)).unwrap();
    let cells = kind.row(&object);
    let columns = kind.columns();
    let shown: Vec<(&str, &Cell)> = columns
        .iter()
        .zip(&cells)
        .filter(|(column, _)| column.priority == 0)
        .map(|(column, cell)| (column.name, cell))
        .collect();
    assert_eq!(shown[0], ("Decision", &Cell::from("web.gardener")));
    assert_eq!(shown[1], ("Target", &Cell::from("aws-eu1.gardener")));
    assert_eq!(columns.len(), cells.len());
}
