//! The examples of `docs/tasks`, by name. `cargo xtask tasks` runs them and compares what they print with the same examples in other
//! languages.
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "examples are short"
)]

macro_rules! tasks {
    ($($task:literal $name:ident $file:literal)*) => {
        $(#[path = $file] mod $name;)*

        fn main() -> Result<(), Box<dyn std::error::Error>> {
            match std::env::args().nth(1).as_deref() {
                $(Some($task) => $name::main(),)*
                other => Err(format!("no task {other:?}").into()),
            }
        }
    };
}

tasks! {
    "open" open "../../../../docs/tasks/open.rs"
    "box" boxed "../../../../docs/tasks/box.rs"
    "object" object "../../../../docs/tasks/object.rs"
    "condition" condition "../../../../docs/tasks/condition.rs"
    "write" write "../../../../docs/tasks/write.rs"
    "append" append "../../../../docs/tasks/append.rs"
    "levels" levels "../../../../docs/tasks/levels.rs"
    "validate" validate "../../../../docs/tasks/validate.rs"
    "sample" sample "../../../../docs/tasks/sample.rs"
    "picture" picture "../../../../docs/tasks/picture.rs"
    "sql" sql "../../../../docs/tasks/sql.rs"
    "parts" parts "../../../../docs/tasks/parts.rs"
}
