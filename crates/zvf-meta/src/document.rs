//! Declares the members of a JSON object once: the fields of a struct, how each is read, when it is written, and what it means.
//!
//! [`document!`] defines the struct and implements [`FromJson`] and [`ToJson`] for it. Members are read and written in the order of the
//! declaration, which is the order in which the reference writes them. The macro adds the field `extra` for unknown members, which
//! are written after the known ones.

use crate::error::MetaError;
use crate::json::{Builder, FromJson, Members, ToJson};

/// Declares a struct whose fields are the members of a JSON object.
///
/// `pub level: u32 = Required("level")` declares the member `level` with the rule [`Required`]. Fields of the block `beside` are not
/// members of this object: reading leaves them at their defaults.
macro_rules! document {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])* pub $field:ident: $type:ty = $rule:ident($json:literal), )*
        }
        $( beside { $( $(#[doc = $other_doc:literal])* pub $other:ident: $other_type:ty, )* } )?
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: $type, )*
            /// Unknown members.
            pub extra: $crate::json::JsonObject,
            $($( $(#[doc = $other_doc])* pub $other: $other_type, )*)?
        }

        impl $name {
            /// Takes the members out of an object; the others become `extra`.
            fn take(
                mut members: $crate::json::Members<'_>,
            ) -> Result<Self, $crate::error::MetaError> {
                use $crate::document::MemberRule;
                Ok(Self {
                    $( $field: <$rule as MemberRule<$type>>::take(&mut members, $json)?, )*
                    extra: members.rest(),
                    $($( $other: Default::default(), )*)?
                })
            }

            /// Returns the members in the order of the declaration, then the unknown ones.
            pub(crate) fn members(&self) -> $crate::json::JsonObject {
                use $crate::document::MemberRule;
                let mut map = $crate::json::Builder::default();
                $( <$rule as MemberRule<$type>>::put(&mut map, $json, &self.$field); )*
                map.finish(&self.extra)
            }
        }

        impl $crate::document::Declared for $name {
            const MEMBERS: &'static [$crate::document::Member] = &[
                $( ($json, &[$($doc),*]), )*
                $($( (stringify!($other), &[$($other_doc),*]), )*)?
            ];
        }

        impl $crate::json::FromJson for $name {
            const EXPECTED: &'static str = "an object";

            fn from_json(
                value: serde_json::Value,
                at: &$crate::json::Pointer<'_>,
            ) -> Result<Self, $crate::error::MetaError> {
                Self::take($crate::json::Members::of(value, at)?)
            }
        }

        impl $crate::json::ToJson for $name {
            fn to_json(&self) -> serde_json::Value {
                serde_json::Value::Object(self.members())
            }
        }
    };
}

pub(crate) use document;

/// A declared member: its name, and the lines of its documentation.
pub(crate) type Member = (&'static str, &'static [&'static str]);

/// A struct that [`document!`] declares.
pub(crate) trait Declared {
    /// Its members, and the fields beside them.
    const MEMBERS: &'static [Member];
}

/// How a member of an object is read into a field of type `T`, and written. All rules treat null as absent.
pub(crate) trait MemberRule<T> {
    /// Takes the member out of the object.
    fn take(members: &mut Members<'_>, name: &str) -> Result<T, MetaError>;

    /// Adds the member to an object, unless the rule leaves it out.
    fn put(map: &mut Builder, name: &str, value: &T);
}

/// The member must exist; it is always written.
pub(crate) struct Required;

/// The member may be absent: `None`, which is not written.
pub(crate) struct Optional;

/// The member may be absent: `None`, which is written as null.
pub(crate) struct Nullable;

/// An absent member gets the default of its type; the member is always written.
pub(crate) struct Defaulted;

/// An absent member gets the default of its type; the default is not written.
pub(crate) struct UnlessDefault;

/// An absent member is the number 1; the member is always written.
pub(crate) struct OneIfAbsent;

/// The role of a node: `zv_array`, or the old spelling `zvf_array` if the new one is absent. Only the new one is written.
pub(crate) struct RoleMember;

impl<T: FromJson + ToJson> MemberRule<T> for Required {
    fn take(members: &mut Members<'_>, name: &str) -> Result<T, MetaError> {
        members.required(name)
    }

    fn put(map: &mut Builder, name: &str, value: &T) {
        map.put(name, value);
    }
}

impl<T: FromJson + ToJson> MemberRule<Option<T>> for Optional {
    fn take(members: &mut Members<'_>, name: &str) -> Result<Option<T>, MetaError> {
        members.optional(name)
    }

    fn put(map: &mut Builder, name: &str, value: &Option<T>) {
        map.put_some(name, value.as_ref());
    }
}

impl<T: FromJson + ToJson> MemberRule<Option<T>> for Nullable {
    fn take(members: &mut Members<'_>, name: &str) -> Result<Option<T>, MetaError> {
        members.optional(name)
    }

    fn put(map: &mut Builder, name: &str, value: &Option<T>) {
        map.put(name, value);
    }
}

impl<T: FromJson + ToJson + Default> MemberRule<T> for Defaulted {
    fn take(members: &mut Members<'_>, name: &str) -> Result<T, MetaError> {
        Ok(members.optional(name)?.unwrap_or_default())
    }

    fn put(map: &mut Builder, name: &str, value: &T) {
        map.put(name, value);
    }
}

impl<T: FromJson + ToJson + Default + PartialEq> MemberRule<T> for UnlessDefault {
    fn take(members: &mut Members<'_>, name: &str) -> Result<T, MetaError> {
        Defaulted::take(members, name)
    }

    fn put(map: &mut Builder, name: &str, value: &T) {
        if *value != T::default() {
            map.put(name, value);
        }
    }
}

impl MemberRule<f64> for OneIfAbsent {
    fn take(members: &mut Members<'_>, name: &str) -> Result<f64, MetaError> {
        Ok(members.optional(name)?.unwrap_or(1.0))
    }

    fn put(map: &mut Builder, name: &str, value: &f64) {
        map.put(name, value);
    }
}

impl MemberRule<Option<String>> for RoleMember {
    fn take(members: &mut Members<'_>, name: &str) -> Result<Option<String>, MetaError> {
        match members.has(name) {
            true => members.optional(name),
            false => members.optional("zvf_array"),
        }
    }

    fn put(map: &mut Builder, name: &str, value: &Option<String>) {
        Optional::put(map, name, value);
    }
}
