//! Discovery documents: the plain form (one request for each group-version) and the aggregated form (two
//! requests for all).
//!
//! Both are rendered from the same [`Catalog`], so they cannot disagree (docs/reference.md, "Discovery and
//! OpenAPI").

mod aggregated;
mod plain;

use std::collections::BTreeMap;

use crate::document::Document;
use crate::resource::Catalog;

/// Documents of one discovery path.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Document in the plain form.
    pub plain: Document,
    /// Document in the aggregated form (v2), only for `/api` and `/apis`.
    pub aggregated: Option<Document>,
}

/// Renders all discovery documents, by path.
pub(crate) fn documents(catalog: &Catalog<'_>) -> BTreeMap<String, Discovery> {
    let mut documents = BTreeMap::new();
    let core: Vec<_> = catalog.core().into_iter().collect();
    let named: Vec<_> = catalog.named().collect();
    let roots = [
        ("/api", plain::api_versions(&core), &core),
        ("/apis", plain::group_list(&named), &named),
    ];
    for (path, document, groups) in roots {
        let aggregated = Document::typed_json(crate::AGGREGATED_DISCOVERY, &aggregated::list(groups));
        let discovery = Discovery {
            plain: Document::json(&document),
            aggregated: Some(aggregated),
        };
        documents.insert(path.to_owned(), discovery);
    }
    for group in &catalog.groups {
        let root = group.root();
        if !group.name.is_empty() {
            let plain = Document::json(&plain::standalone_group(group));
            documents.insert(
                format!("/{root}"),
                Discovery {
                    plain,
                    aggregated: None,
                },
            );
        }
        for version in &group.versions {
            let plain = Document::json(&plain::resource_list(group, version));
            documents.insert(
                format!("/{root}/{}", version.name),
                Discovery {
                    plain,
                    aggregated: None,
                },
            );
        }
    }
    documents
}
