//! Policies, and the requests for each of them. Every policy is about the Placements with its name as a
//! label, so that all of them can be in force at once.

use serde_json::{Value, json};

/// The group of the written kind.
pub(crate) const GROUP: &str = "cluster.open-cluster-management.io";
/// The label with the name of an object's policy.
pub(crate) const LABEL: &str = "case";
/// The user without rights, for cases that check rights.
pub(crate) const BOB: &str = "bob";

/// A policy with one binding, and its requests.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Consequences of a failed validation.
    actions: &'static [&'static str],
    spec: Value,
    bound: Value,
    pub(crate) requests: Requests,
}

/// The requests of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    /// Creates with 0 to 6 clusters.
    Creates,
    /// Creates by a user without own rights.
    CreatesOfBob,
    /// Updates from 3 clusters to 0 to 6.
    Updates,
    /// A deletion.
    Deletes,
    /// Updates of the status.
    Statuses,
}

fn case(name: &'static str, spec: Value) -> Case {
    Case {
        name,
        actions: &["Deny"],
        spec,
        bound: json!({}),
        requests: Requests::Creates,
    }
}

impl Case {
    fn bound(mut self, bound: Value) -> Self {
        self.bound = bound;
        self
    }

    fn doing(mut self, actions: &'static [&'static str]) -> Self {
        self.actions = actions;
        self
    }

    fn with_requests(mut self, requests: Requests) -> Self {
        self.requests = requests;
        self
    }

    fn is_mutating(&self) -> bool {
        !self.spec["mutations"].is_null()
    }

    /// The policy and its binding.
    pub(crate) fn objects(&self) -> [Value; 2] {
        let kind = match self.is_mutating() {
            true => "MutatingAdmissionPolicy",
            false => "ValidatingAdmissionPolicy",
        };
        let (resources, operations) = match self.requests {
            Requests::Creates | Requests::CreatesOfBob => ("placements", "CREATE"),
            Requests::Updates => ("placements", "UPDATE"),
            Requests::Deletes => ("placements", "DELETE"),
            Requests::Statuses => ("placements/status", "UPDATE"),
        };
        let mut spec = json!({"matchConstraints": {
            "objectSelector": {"matchLabels": {LABEL: self.name}},
            "resourceRules": [{"apiGroups": [GROUP], "apiVersions": ["*"], "resources": [resources], "operations": [operations]}],
        }});
        over(&mut spec, &self.spec);
        let mut bound = json!({"policyName": self.name});
        if self.is_mutating() {
            if spec["reinvocationPolicy"].is_null() {
                spec["reinvocationPolicy"] = "Never".into();
            }
        } else {
            bound["validationActions"] = json!(self.actions);
        }
        over(&mut bound, &self.bound);
        let object = |kind: String, spec: Value| json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": self.name}, "spec": spec});
        [
            object(kind.to_owned(), spec),
            object(format!("{kind}Binding"), bound),
        ]
    }
}

fn over(to: &mut Value, fields: &Value) {
    for (field, value) in fields.as_object().expect("fields") {
        to[field] = value.clone();
    }
}

/// A policy with one validation.
fn one(name: &'static str, expression: &str) -> Case {
    case(name, json!({"validations": [{"expression": expression}]}))
}

/// A policy with one validation with these fields.
fn with(name: &'static str, validation: Value) -> Case {
    case(name, json!({"validations": [validation]}))
}

fn applies(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patches(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

/// Parameters of the cases.
pub(crate) fn parameters(namespace: &str) -> Vec<Value> {
    let map = |name: &str, most: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"most": most},
            "metadata": {"name": name, "namespace": namespace, "labels": {"limits": "yes"}}})
    };
    vec![map("few", "2"), map("many", "4")]
}

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let mut all = message_cases();
    all.extend(variable_cases());
    all.extend(match_cases());
    all.extend(failing_cases());
    all.extend(mutation_cases());
    all
}

const FEW: &str = "object.spec.numberOfClusters <= 2";

/// Cases about messages of a failed validation.
fn message_cases() -> Vec<Case> {
    vec![
        one("plain", FEW),
        one("trimmed", "  object.spec.numberOfClusters <= 2\n"),
        with("message", json!({"expression": FEW, "message": "  at most two "})),
        with(
            "made",
            json!({"expression": FEW, "message": "else", "messageExpression": "'not ' + string(object.spec.numberOfClusters)"}),
        ),
        with(
            "made-empty",
            json!({"expression": FEW, "message": "else", "messageExpression": "'  '"}),
        ),
        with(
            "made-lines",
            json!({"expression": FEW, "message": "else", "messageExpression": "'a\\nb'"}),
        ),
        with(
            "made-wrong",
            json!({"expression": FEW, "messageExpression": "string(object.spec.nothing)"}),
        ),
        with("forbidden", json!({"expression": FEW, "reason": "Forbidden"})),
        with(
            "too-large",
            json!({"expression": FEW, "reason": "RequestEntityTooLarge"}),
        ),
        case(
            "several",
            json!({"validations": [{"expression": "object.spec.numberOfClusters != 1", "message": "not one"},
                {"expression": FEW, "message": "few"}]}),
        ),
        one("warns", FEW).doing(&["Warn"]),
        one("warns-and-audits", FEW).doing(&["Warn", "Audit"]),
        one("audits", FEW).doing(&["Audit"]),
    ]
}

/// Cases about variables of expressions.
fn variable_cases() -> Vec<Case> {
    vec![
        case(
            "variables",
            json!({"variables": [{"name": "n", "expression": "object.spec.numberOfClusters"},
                {"name": "twice", "expression": "variables.n * 2"}],
                "validations": [{"expression": "variables.twice <= 4", "messageExpression": "string(variables.twice)"}]}),
        ),
        with(
            "request",
            json!({"expression": "false", "messageExpression": "[request.operation, request.kind.kind, request.kind.version,
                request.resource.resource, request.namespace, request.name, string(request.dryRun)].join('/')"}),
        ),
        with(
            "request-subresource",
            json!({"expression": "false", "messageExpression": "'a' + request.subResource"}),
        ),
        with(
            "request-uid",
            json!({"expression": "false", "messageExpression": "'a' + request.userInfo.uid"}),
        ),
        with(
            "request-groups",
            json!({"expression": "false", "messageExpression": "'a' + string(size(request.userInfo.groups))"}),
        ),
        with(
            "request-extra",
            json!({"expression": "false", "messageExpression": "'a' + string(size(request.userInfo.extra))"}),
        ),
        with(
            "namespace",
            json!({"expression": "false", "messageExpression": "string(namespaceObject.metadata.name) + string(namespaceObject.metadata.labels.tier)"}),
        ),
        with(
            "nothing-before",
            json!({"expression": "oldObject != null", "messageExpression": "'before: ' + string(oldObject == null)"}),
        ),
        one("optional", "object.spec.?numberOfClusters.orValue(9) < 3"),
        one("has", "!has(object.spec.numberOfClusters) || object.metadata.?annotations.hasValue()"),
        one("lists", "[1, 2, 3].exists(n, n == object.spec.numberOfClusters)"),
        one("texts", "string(object.spec.numberOfClusters).matches('^[0-3]$') && object.metadata.name.find('[0-9]+') != '1'"),
        one("quantities", "quantity('3Gi').isGreaterThan(quantity(string(object.spec.numberOfClusters) + 'Gi'))"),
        one("addresses", "cidr('10.0.0.0/30').containsIP(ip('10.0.0.' + string(object.spec.numberOfClusters)))"),
        one("versions", "semver('1.' + string(object.spec.numberOfClusters) + '.0').isLessThan(semver('1.3.0'))"),
        one("urls", "url('https://a.example:' + string(object.spec.numberOfClusters)).getPort() != '3'"),
        one("sets", "sets.contains([0, 1, 2], [object.spec.numberOfClusters])"),
        with(
            "changes",
            json!({"expression": "object.spec.numberOfClusters >= oldObject.spec.numberOfClusters",
                "messageExpression": "string(oldObject.spec.numberOfClusters) + ' to ' + string(object.spec.numberOfClusters)"}),
        )
        .with_requests(Requests::Updates),
        with(
            "goes",
            json!({"expression": "oldObject.spec.numberOfClusters != 3 || object != null", "message": "stays"}),
        )
        .with_requests(Requests::Deletes),
        with(
            "status",
            json!({"expression": "object.status.numberOfSelectedClusters <= 2", "messageExpression": "request.subResource"}),
        )
        .with_requests(Requests::Statuses),
    ]
}

/// Cases about matched writes, and about parameters.
fn match_cases() -> Vec<Case> {
    let limited = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{
        "expression": "object.spec.numberOfClusters <= int(params.data.most)", "messageExpression": "string(params.metadata.name)"}]});
    let limited = |name, by: Value| case(name, limited.clone()).bound(json!({"paramRef": by}));
    let rights = |verb: &str| {
        format!(
            "authorizer.group('apps').resource('deployments').namespace('default').check('{verb}').allowed()"
        )
    };
    vec![
        limited("param-named", json!({"name": "few", "parameterNotFoundAction": "Deny"})),
        limited("param-missing", json!({"name": "none", "parameterNotFoundAction": "Deny"})),
        limited("param-allowed", json!({"name": "none", "parameterNotFoundAction": "Allow"})),
        limited(
            "param-selected",
            json!({"selector": {"matchLabels": {"limits": "yes"}}, "parameterNotFoundAction": "Deny"}),
        ),
        limited(
            "param-elsewhere",
            json!({"name": "few", "namespace": "kube-system", "parameterNotFoundAction": "Deny"}),
        ),
        case(
            "param-unused",
            json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{"expression": "params != null", "message": "none"}]}),
        ),
        case(
            "param-unknown",
            json!({"paramKind": {"apiVersion": "nowhere.example/v1", "kind": "Nothing"}, "validations": [{"expression": "true"}]}),
        )
        .bound(json!({"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}})),
        case(
            "conditions",
            json!({"matchConditions": [{"name": "small", "expression": "object.spec.numberOfClusters < 5"},
                {"name": "odd", "expression": "object.spec.numberOfClusters % 2 == 1"}], "validations": [{"expression": "false"}]}),
        ),
        case(
            "condition-fails",
            json!({"matchConditions": [{"name": "wrong", "expression": "object.spec.nothing == 1"}], "validations": [{"expression": "false"}]}),
        ),
        case(
            "condition-ignored",
            json!({"failurePolicy": "Ignore", "matchConditions": [{"name": "wrong", "expression": "object.spec.nothing == 1"}],
                "validations": [{"expression": "false"}]}),
        ),
        one("elsewhere", "false").bound(json!({"matchResources": {"namespaceSelector": {"matchLabels": {"tier": "iron"}}}})),
        one("here", FEW).bound(json!({"matchResources": {"namespaceSelector": {"matchLabels": {"tier": "gold"}}}})),
        one("bound-to-updates", "false").bound(json!({"matchResources": {"resourceRules": [{"apiGroups": [GROUP],
            "apiVersions": ["v1beta1"], "resources": ["placements"], "operations": ["UPDATE"]}]}})),
        one("bound-by-name", "false").bound(json!({"matchResources": {"resourceRules": [{"apiGroups": [GROUP],
            "apiVersions": ["v1beta1"], "resources": ["placements"], "operations": ["*"], "resourceNames": ["bound-by-name-1"]}]}})),
        one("excluded", "false").bound(json!({"matchResources": {"excludeResourceRules": [{"apiGroups": [GROUP],
            "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}]}})),
        with("rights", json!({"expression": rights("get"), "messageExpression": "request.userInfo.username"})),
        with("no-rights", json!({"expression": rights("get"), "messageExpression": "request.userInfo.username"}))
            .with_requests(Requests::CreatesOfBob),
        one(
            "other-rights",
            "!authorizer.serviceAccount('default', 'robot').group('').resource('pods').check('list').allowed() && \
             object.spec.numberOfClusters < 3",
        ),
    ]
}

/// Cases whose evaluation fails.
fn failing_cases() -> Vec<Case> {
    let wrong = json!([{"expression": "object.spec.nothing == 1"}]);
    vec![
        case("fails", json!({"validations": wrong})),
        case(
            "ignored",
            json!({"failurePolicy": "Ignore", "validations": wrong}),
        ),
        one("divides", "10 / object.spec.numberOfClusters > 2"),
        one("beyond", "[1, 2, 3][object.spec.numberOfClusters] > 1"),
        one("converts", "int(object.metadata.name) > 1"),
        case("warned", json!({"validations": wrong})).doing(&["Warn"]),
        one(
            "dear",
            "lists.range(4000).all(x, lists.range(4000).all(y, x + y >= 0))",
        ),
        case(
            "dear-ignored",
            json!({"failurePolicy": "Ignore", "validations": [{"expression": "lists.range(4000).all(x, lists.range(4000).all(y, x + y >= 0))"}]}),
        ),
        case(
            "annotation-fails",
            json!({"auditAnnotations": [{"key": "k", "valueExpression": "string(object.spec.nothing)"}]}),
        ),
        case(
            "variable-fails",
            json!({"variables": [{"name": "v", "expression": "object.spec.nothing"}], "validations": [{"expression": "variables.v == 1"}]}),
        ),
    ]
}

/// Cases that change objects.
fn mutation_cases() -> Vec<Case> {
    let case = |name, mutations: Value| case(name, json!({"mutations": mutations}));
    vec![
        case(
            "labels",
            json!([applies(
                "Object{metadata: Object.metadata{labels: {'made': 'yes'}}}"
            )]),
        ),
        case(
            "counts",
            json!([applies(
                "Object{spec: Object.spec{numberOfClusters: int(object.spec.numberOfClusters) + 1}}"
            )]),
        ),
        case(
            "twice",
            json!([
                applies("Object{spec: Object.spec{numberOfClusters: 7}}"),
                patches(
                    "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'n': string(object.spec.numberOfClusters)}}]"
                )
            ]),
        ),
        case(
            "removes",
            json!([patches(
                "[JSONPatch{op: 'remove', path: '/spec/numberOfClusters'}]"
            )]),
        ),
        case(
            "tests",
            json!([patches(
                "[JSONPatch{op: 'test', path: '/spec/numberOfClusters', value: 3}, JSONPatch{op: 'replace', path: '/spec/numberOfClusters', value: 1}]"
            )]),
        ),
        case(
            "no-such-path",
            json!([patches("[JSONPatch{op: 'remove', path: '/spec/nothing'}]")]),
        ),
        case(
            "wrong-type",
            json!([applies("Object{spec: Object.spec{numberOfClusters: 'many'}}")]),
        ),
        case(
            "unknown-field",
            json!([applies("Object{spec: Object.spec{nothing: 1}}")]),
        ),
        case(
            "wrong-name",
            json!([applies("Object{spec: Object.wrong{numberOfClusters: 1}}")]),
        ),
        case(
            "no-key",
            json!([applies(
                "Object{spec: Object.spec{numberOfClusters: object.spec.nothing}}"
            )]),
        ),
        case(
            "too-low",
            json!([applies("Object{spec: Object.spec{numberOfClusters: -1}}")]),
        ),
    ]
}
