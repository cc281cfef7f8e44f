//! Which faults a source can have, and a source that has some of them, each behind a switch.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, BinOp, Block, Expr, GenericArgument, Pat, PathArguments, ReturnType, Signature,
    Stmt, Type, UnOp,
};

/// The variable with the number of the fault that a program has; none without it.
pub(super) const SWITCH: &str = "ZVF_FAULT";

/// What the root of a crate with faults ends with.
pub(super) fn root() -> String {
    format!(
        r#"
mod zvf_faults {{
    #[allow(unused_extern_crates)]
    extern crate std;
    static ON: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    pub(crate) fn on(number: usize) -> bool {{
        let read = || std::env::var("{SWITCH}").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        *ON.get_or_init(read) == number
    }}
}}
"#
    )
}

/// A fault: a range of the source, and what is there instead, with [`ON`] where it asks whether it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    /// What it changes, and the function.
    pub(super) what: String,
    range: Range<usize>,
    with: String,
}

/// Stands for the question whether a fault is on.
const ON: &str = "\u{0}";

/// All faults of a source, in its order.
pub(super) fn of(source: &str) -> syn::Result<Vec<Fault>> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder {
        source,
        path: Vec::new(),
        found: Vec::new(),
    };
    finder.visit_file(&file);
    finder
        .found
        .sort_by_key(|fault| (fault.range.start, fault.range.end));
    Ok(finder.found)
}

/// The source with numbered faults, and where in the result each is. They do not overlap, and are in the source's order.
pub(super) fn switched(
    source: &str,
    faults: &[(usize, &Fault)],
) -> (String, Vec<(usize, Range<usize>)>) {
    let (mut text, mut places) = (String::new(), Vec::new());
    let mut copied = 0;
    for (number, fault) in faults {
        text.push_str(&source[copied..fault.range.start]);
        let start = text.len();
        text.push_str(
            &fault
                .with
                .replace(ON, &format!("crate::zvf_faults::on({number})")),
        );
        places.push((*number, start..text.len()));
        copied = fault.range.end;
    }
    text.push_str(&source[copied..]);
    (text, places)
}

impl Fault {
    /// Whether both cannot be in one source.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (&self.range, &other.range);
        a.start < b.end && b.start < a.end || a == b
    }
}

/// Collects the faults of functions. What is a constant, only for tests or not for all targets, and what macros make has none.
struct Finder<'s> {
    source: &'s str,
    /// Names of the modules, types and functions around.
    path: Vec<String>,
    found: Vec<Fault>,
}

impl Finder<'_> {
    fn text(&self, node: &impl Spanned) -> &str {
        &self.source[node.span().byte_range()]
    }

    fn add(&mut self, at: &impl Spanned, range: Range<usize>, what: &str, with: String) {
        let line = at.span().start().line;
        let what = format!("{what} in {}", self.path.join("::"));
        self.found.push(Fault {
            line,
            what,
            range,
            with,
        });
    }

    /// Either text where a node is.
    fn either(&mut self, node: &impl Spanned, at: &impl Spanned, what: &str, fault: &str) {
        let sound = self.text(node);
        let with = format!("(if {ON} {{ {fault} }} else {{ {sound} }})");
        self.add(at, node.span().byte_range(), what, with);
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        if signature.constness.is_some() {
            return;
        }
        self.path.push(signature.ident.to_string());
        let body = &self.source[block.brace_token.span.join().byte_range()];
        let body = body.trim_matches(['{', '}']).trim().to_owned();
        let start = block.brace_token.span.open().byte_range().end;
        for value in values(&signature.output) {
            if !body.is_empty() && body != value {
                let what = format!("returns {value}");
                self.add(
                    &signature.ident,
                    start..start,
                    &what,
                    format!(" if {ON} {{ return {value}; }}"),
                );
            }
        }
        visit::visit_block(self, block);
        self.path.pop();
    }

    fn within(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.path.push(name);
        visit(self);
        self.path.pop();
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_hidden(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_hidden(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let (Some(block), false) = (&item.default, is_hidden(&item.attrs)) {
            self.function(&item.sig, block);
        }
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        // A `Default` that returns its own default never ends, and texts for developers are not tested.
        let of = item
            .trait_
            .as_ref()
            .and_then(|(_, path, _)| path.segments.last());
        let skipped = of.is_some_and(|name| name.ident == "Default" || name.ident == "Debug");
        if !is_hidden(&item.attrs) && !skipped {
            let name = self.text(&*item.self_ty).to_owned();
            self.within(name, |this| visit::visit_item_impl(this, item));
        }
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        if !is_hidden(&item.attrs) {
            self.within(item.ident.to_string(), |this| {
                visit::visit_item_trait(this, item)
            });
        }
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_hidden(&item.attrs) {
            self.within(item.ident.to_string(), |this| {
                visit::visit_item_mod(this, item)
            });
        }
    }

    fn visit_item_const(&mut self, _: &'a syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'a syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'a syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'a syn::ItemEnum) {}
    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}
    fn visit_attribute(&mut self, _: &'a Attribute) {}
    fn visit_type(&mut self, _: &'a Type) {}
    fn visit_pat(&mut self, _: &'a Pat) {}
    fn visit_generic_argument(&mut self, _: &'a GenericArgument) {}

    fn visit_expr_repeat(&mut self, repeat: &'a syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let attributes = match statement {
            Stmt::Local(local) => &local.attrs[..],
            Stmt::Expr(Expr::Block(block), _) => &block.attrs[..],
            _ => &[],
        };
        if !is_hidden(attributes) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'a syn::ExprBinary) {
        let sides = [
            self.text(&*binary.left).to_owned(),
            self.text(&*binary.right).to_owned(),
        ];
        let sign = self.text(&binary.op).to_owned();
        if !matches!(binary.op, BinOp::And(_)) || !has_let(&binary.left) && !has_let(&binary.right)
        {
            for other in others(&binary.op) {
                let what = format!("{other} instead of {sign}");
                self.either(
                    binary,
                    &binary.op,
                    &what,
                    &format!("{} {other} {}", sides[0], sides[1]),
                );
            }
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'a syn::ExprUnary) {
        if matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let operand = self.text(&*unary.expr).to_owned();
            let what = format!("no {}", self.text(&unary.op));
            self.either(unary, unary, &what, &operand);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, expression: &'a syn::ExprMatch) {
        let is_last = |arm: &syn::Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        let has_last = expression.arms.last().is_some_and(is_last);
        for arm in &expression.arms {
            let pattern = self.text(&arm.pat).to_owned();
            let skipped = is_hidden(&arm.attrs);
            match &arm.guard {
                Some((_, guard)) if !skipped => {
                    let text = self.text(&**guard).to_owned();
                    for (value, with) in [
                        ("true", format!("({ON} || ({text}))")),
                        ("false", format!("(!{ON} && ({text}))")),
                    ] {
                        let what = format!("{value} instead of the guard of {pattern}");
                        self.add(guard, guard.span().byte_range(), &what, with);
                    }
                }
                None if !skipped && has_last && !is_last(arm) => {
                    let end = arm.pat.span().byte_range().end;
                    self.add(
                        &arm.pat,
                        end..end,
                        &format!("no arm {pattern}"),
                        format!(" if !{ON}"),
                    );
                }
                _ => {}
            }
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        if !is_hidden(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }
}

/// Whether something is a test, or not compiled for all targets and features.
fn is_hidden(attributes: &[Attribute]) -> bool {
    let hides = |attribute: &Attribute| {
        let meta = &attribute.meta;
        let asked = match meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        let absent = [
            "test",
            "not",
            "target_",
            "unix",
            "windows",
            "debug_assertions",
        ];
        meta.path().is_ident("test")
            || meta.path().is_ident("cfg") && absent.iter().any(|word| asked.contains(word))
    };
    attributes.iter().any(hides)
}

/// Whether a condition binds names.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// What a function may return instead.
fn values(output: &ReturnType) -> Vec<String> {
    let ReturnType::Type(_, returned) = output else {
        return vec!["()".into()];
    };
    of_type(returned)
}

fn of_type(returned: &Type) -> Vec<String> {
    let some = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match returned {
        Type::Tuple(tuple) if tuple.elems.is_empty() => some(&["()"]),
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(_) if reference.mutability.is_none() => some(&["&[]"]),
            Type::Path(path) if path.path.is_ident("str") => some(&["\"\""]),
            _ => Vec::new(),
        },
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return Vec::new();
            };
            match last.ident.to_string().as_str() {
                "bool" => some(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64"
                | "i128" | "isize" => some(&["0", "1"]),
                "f32" | "f64" => some(&["0.0", "1.0"]),
                "Option" => some(&["None"]),
                "Result" => match first(&last.arguments) {
                    Some(value) => of_type(value)
                        .iter()
                        .map(|value| format!("Ok({value})"))
                        .collect(),
                    None => some(&["Ok(())"]),
                },
                _ => some(&["Default::default()"]),
            }
        }
        Type::Array(_) | Type::Tuple(_) => some(&["Default::default()"]),
        _ => Vec::new(),
    }
}

/// The first type among arguments.
fn first(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(of) => Some(of),
        _ => None,
    })
}

/// The signs that stand instead of one.
fn others(sign: &BinOp) -> &'static [&'static str] {
    match sign {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Lt(_) => &["<=", ">", "=="],
        BinOp::Gt(_) => &[">=", "<", "=="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["*", "%"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["&", "|"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["*=", "%="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::BitXorAssign(_) => &["&=", "|="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    const SOURCE: &str = "fn less(a: u8, b: u8) -> Option<bool> {\n    match a {\n        0 => None,\n        _ if a < b => Some(true),\n        _ => Some(!flag()),\n    }\n}\n\
        const fn two() -> u8 {\n    1 + 1\n}\n#[cfg(test)]\nmod tests {\n    fn one() -> u8 {\n        1\n    }\n}\n";

    #[test]
    fn functions_operators_arms_and_guards_have_faults() -> Outcome {
        let found = of(SOURCE)?;
        let what: Vec<String> = found
            .iter()
            .map(|fault| format!("{} {}", fault.line, fault.what))
            .collect();
        let wanted = [
            "1 returns None in less",
            "3 no arm 0 in less",
            "4 true instead of the guard of _ in less",
            "4 false instead of the guard of _ in less",
            "4 <= instead of < in less",
            "4 > instead of < in less",
            "4 == instead of < in less",
            "5 no ! in less",
        ];
        assert_eq!(what, wanted);
        Ok(())
    }

    #[test]
    fn a_source_with_faults_says_where_they_are() -> Outcome {
        let found = of(SOURCE)?;
        let chosen = [(7, &found[0]), (8, &found[4]), (9, &found[7])];
        assert!(found[2].overlaps(&found[4]) && !found[0].overlaps(&found[1]));
        let (text, places) = switched(SOURCE, &chosen);
        let at: Vec<(usize, &str)> = places
            .into_iter()
            .map(|(number, range)| (number, &text[range]))
            .collect();
        let on = "crate::zvf_faults::on";
        let wanted = [
            (7, format!(" if {on}(7) {{ return None; }}")),
            (8, format!("(if {on}(8) {{ a <= b }} else {{ a < b }})")),
            (9, format!("(if {on}(9) {{ flag() }} else {{ !flag() }})")),
        ];
        assert_eq!(
            at,
            wanted
                .each_ref()
                .map(|(number, text)| (*number, text.as_str()))
        );
        syn::parse_file(&text)?;
        Ok(())
    }
}
