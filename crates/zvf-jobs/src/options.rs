//! How the options of jobs are declared.

/// Declares a struct of options: members with their documentation, their form on the command line, and defaults that differ from the type's.
macro_rules! options {
    ($(#[doc = $about:tt])* $name:ident {
        $(
            $(#[doc = $doc:tt])*
            $(#[arg($($arg:tt)*)])?
            $(#[command($($command:tt)*)])?
            $(#[serde($($serde:tt)*)])?
            $(#[schemars($($schema:tt)*)])?
            $member:ident: $type:ty $(= $default:expr)?,
        )*
    }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[cfg_attr(feature = "clap", derive(clap::Args))]
        #[serde(default)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[cfg_attr(feature = "clap", arg($($arg)*))])?
                $(#[cfg_attr(feature = "clap", command($($command)*))])?
                $(#[serde($($serde)*)])?
                $(#[schemars($($schema)*)])?
                pub $member: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($member: options!(@ $($default)?),)* }
            }
        }
    };
    (@) => { Default::default() };
    (@ $default:expr) => { $default };
}

/// Declares the options of a job that makes a store from another one: its own and the shared ones.
macro_rules! new_store {
    ($(#[doc = $about:tt])* $name:ident { $($own:tt)* }) => {
        options! {
            $(#[doc = $about])*
            $name {
                /// Path or URL of the old store
                #[arg(value_name = "SRC")]
                source: String,
                /// Path or URL of the new store; it must not exist
                #[arg(value_name = "DST")]
                target: String,
                $($own)*
                /// Records the progress in FILE until DST is complete: the same command continues after an interruption
                #[arg(long, value_name = "FILE")]
                #[schemars(extend("format" = "path"))]
                journal: Option<std::path::PathBuf>,
                /// Removes what an interrupted writer left at DST; a finished store is never touched
                #[arg(long)]
                clear_leftovers: bool,
            }
        }

        impl $name {
            /// How the new store is written.
            fn writing(&self, context: &crate::Context) -> crate::error::Result<zvf_encode::WriteOptions> {
                crate::checks::outside("journal", self.journal.as_deref())?;
                let mut write = context.writing(self.clear_leftovers);
                write.journal.clone_from(&self.journal);
                Ok(write)
            }
        }
    };
}
