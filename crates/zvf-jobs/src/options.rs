//! How the options of jobs are declared.

/// Declares a struct of options: members with their documentation, their syntax on the command line, and defaults that differ from those of their types.
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

/// Declares types of values that serialize as they were written: the schema, the function that parses the value, and the default, if there is one.
macro_rules! written {
    ($($(#[$doc:meta])* $name:ident($value:ty): $schema:tt, $read:expr $(, default $text:literal: $default:expr)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            written: Value,
            value: $value,
        }

        impl $name {
            /// The value.
            #[must_use]
            pub fn value(&self) -> &$value {
                &self.value
            }

            /// The value as it was written, if that is a text.
            #[must_use]
            pub fn as_str(&self) -> Option<&str> {
                self.written.as_str()
            }

            fn of(written: Value) -> Result<Self, String> {
                let read: fn(&Value) -> Result<$value, String> = $read;
                let value = read(&written)?;
                Ok(Self { written, value })
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::of(text.into())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.written.serialize(to)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Self::of(Value::deserialize(from)?).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self { written: $text.into(), value: $default }
            }
        })?
    )*};
}
