//! How the options of jobs are declared.

/// Declares a struct of options: its members with their documentation, how a command line has them, and defaults other than those of their types.
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
