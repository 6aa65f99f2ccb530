//! Fields of an object that is not there: selecting one is an error in Kubernetes' CEL, and null to the interpreter here,
//! which would make conditions hold or not that kube-apiserver leaves to the failure policy. So what fields are selected
//! of goes by a name of its own, which is declared only while the object is there.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr};

/// The variables that can be null.
pub(super) const OBJECTS: [&str; 2] = ["object", "oldObject"];

/// The name of `object` where fields are selected of it. No expression can contain it.
pub(super) fn fields_of(object: &str) -> String {
    format!("{object}.")
}

/// Renames what fields are selected of, everywhere in `tree`.
pub(super) fn rename(tree: &mut IdedExpr) {
    match &mut tree.expr {
        Expr::Select(select) => {
            as_fields(&mut select.operand);
            rename(&mut select.operand);
        }
        Expr::Call(call) => {
            if call.func_name.starts_with("_[")
                && let Some(indexed) = call.args.first_mut()
            {
                as_fields(indexed);
            }
            if call.func_name.starts_with("_?.")
                && let Some(selected) = call.args.first_mut()
            {
                as_fields(selected);
            }
            call.target.iter_mut().for_each(|target| rename(target));
            call.args.iter_mut().for_each(rename);
        }
        Expr::Comprehension(all) => {
            for part in [
                &mut all.iter_range,
                &mut all.accu_init,
                &mut all.loop_cond,
                &mut all.loop_step,
                &mut all.result,
            ] {
                rename(part);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(rename),
        Expr::Map(map) => map.entries.iter_mut().for_each(entry),
        Expr::Struct(message) => message.entries.iter_mut().for_each(entry),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn entry(entry: &mut IdedEntryExpr) {
    match &mut entry.expr {
        EntryExpr::StructField(field) => rename(&mut field.value),
        EntryExpr::MapEntry(pair) => {
            rename(&mut pair.key);
            rename(&mut pair.value);
        }
    }
}

fn as_fields(tree: &mut IdedExpr) {
    if let Expr::Ident(name) = &mut tree.expr
        && OBJECTS.contains(&name.as_str())
    {
        *name = fields_of(name);
    }
}
