//! The jobs `edit-group-…`.

use zvf_edit::Edit;

use super::{EditReport, begin, done, existing_ids, report};
use crate::error::Result;
use crate::selection::{check_ids, ids_of, listed};
use crate::{Context, JobError, Term};

edit_options! {
    /// Adds objects to a group, which is created if it does not exist
    EditGroupAddJob {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
        /// Ids of objects, ranges such as 3-9, @FILE, or names of objects; none makes an empty group
        #[arg(value_name = "ID", allow_negative_numbers = true)]
        #[serde(deserialize_with = "listed")]
        #[schemars(with = "Option<Term>")]
        objects: Option<Vec<Term>>,
        /// Leaves out ids that the store does not have, instead of failing
        #[arg(long)]
        ignore_missing: bool,
    }
}

edit_options! {
    /// Removes objects from a group
    EditGroupRemoveJob {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
        /// Ids of objects, ranges such as 3-9, @FILE, or names of objects
        #[arg(value_name = "ID", required = true, allow_negative_numbers = true)]
        #[serde(deserialize_with = "listed")]
        #[schemars(with = "Option<Term>")]
        objects: Option<Vec<Term>>,
        /// Leaves out ids that the store does not have, instead of failing
        #[arg(long)]
        ignore_missing: bool,
    }
}

edit_options! {
    /// Gives a group another name
    EditGroupRenameJob {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
        /// Its new name
        #[arg(value_name = "NAME")]
        new_name: String,
    }
}

edit_options! {
    /// Deletes a group, but not its objects; the numbers of later groups decrease by 1
    EditGroupDeleteJob {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
    }
}

impl EditGroupAddJob {
    pub(crate) fn check(&self) -> Result<()> {
        check_group(("group", &self.group), ("objects", self.objects.as_deref()))
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<EditReport> {
        let objects = ("objects", self.objects.as_deref());
        add_to_group(
            &self.store,
            &self.group,
            objects,
            self.ignore_missing,
            context,
        )
        .await
    }
}

impl EditGroupRemoveJob {
    pub(crate) fn check(&self) -> Result<()> {
        if self.objects.as_ref().is_none_or(Vec::is_empty) {
            return Err(JobError::option("objects", "nothing", "at least one"));
        }
        check_group(("group", &self.group), ("objects", self.objects.as_deref()))
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<EditReport> {
        let mut edit = begin(&self.store, context).await?;
        let objects = ("objects", self.objects.as_deref());
        let made = match members(&mut edit, objects, self.ignore_missing, context).await {
            Ok(ids) => done(edit.remove_from_group(&self.group, &ids).await),
            Err(error) => Err(error),
        };
        report(edit, &self.store, made, context).await
    }
}

impl EditGroupRenameJob {
    pub(crate) fn check(&self) -> Result<()> {
        check_group(("group", &self.group), ("", None))
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<EditReport> {
        let mut edit = begin(&self.store, context).await?;
        let made = done(edit.rename_group(&self.group, &self.new_name).await);
        report(edit, &self.store, made, context).await
    }
}

impl EditGroupDeleteJob {
    pub(crate) fn check(&self) -> Result<()> {
        check_group(("group", &self.group), ("", None))
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<EditReport> {
        let mut edit = begin(&self.store, context).await?;
        let made = done(edit.delete_group(&self.group).await);
        report(edit, &self.store, made, context).await
    }
}

/// A member of a job that lists objects: its name, and its terms.
type MemberTerms<'a> = (&'a str, Option<&'a [Term]>);

/// Checks the name of a group, and the ids that are given in the job itself and not in a file.
pub(crate) fn check_group(group: (&str, &str), objects: MemberTerms<'_>) -> Result<()> {
    if group.1.is_empty() {
        return Err(JobError::option(group.0, "nothing", "a text"));
    }
    for (at, term) in objects.1.into_iter().flatten().enumerate() {
        if name(term).is_none() {
            check_ids(std::slice::from_ref(term), (objects.0, at))?;
        }
    }
    Ok(())
}

/// The name of an object, if the term is one; `None` for ids, ranges of ids, or a file of ids.
fn name(Term(term): &Term) -> Option<&str> {
    let word = term.as_str()?;
    let of_ids = |c: char| c.is_ascii_digit() || matches!(c, '-' | ',' | '+' | ' ');
    let is_name = !word.starts_with('@') && !word.chars().all(of_ids);
    is_name.then(|| word.strip_prefix("name:").unwrap_or(word))
}

/// The ids of the objects that the terms name.
async fn members(
    edit: &mut Edit,
    (list, objects): MemberTerms<'_>,
    ignore_missing: bool,
    context: &Context,
) -> Result<Vec<i64>> {
    let mut found = Vec::new();
    for (at, term) in objects.into_iter().flatten().enumerate() {
        match name(term) {
            Some(name) => found.push(edit.object_named(name).await?),
            None => {
                let ids = ids_of(std::slice::from_ref(term), (list, at), context).await?;
                let ids = existing_ids(edit, &ids, ignore_missing);
                found.extend(ids.map_err(JobError::query(""))?);
            }
        }
    }
    Ok(found)
}

/// Adds objects to a group.
pub(crate) async fn add_to_group(
    store: &str,
    group: &str,
    objects: MemberTerms<'_>,
    ignore_missing: bool,
    context: &Context,
) -> Result<EditReport> {
    let mut edit = begin(store, context).await?;
    let made = match members(&mut edit, objects, ignore_missing, context).await {
        Ok(ids) => done(edit.add_to_group(group, &ids).await),
        Err(error) => Err(error),
    };
    report(edit, store, made, context).await
}
