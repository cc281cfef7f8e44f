//! What `--version` prints, as text and as JSON.

use serde::Serialize;
use zvf_convert::Format;

/// Version, commit and formats of this program, as `--version` prints them.
#[derive(Debug, Serialize)]
pub(crate) struct Version {
    program: &'static str,
    version: &'static str,
    /// The commit that a released program was built from.
    commit: Option<&'static str>,
    /// Versions of the format.
    reads: &'static str,
    writes: [&'static str; 2],
    /// File formats, by the endings of file names.
    files: Vec<&'static str>,
    volumes: &'static [&'static str],
    /// Schemes of URLs.
    storage: &'static [&'static str],
    /// The version of Neuroglancer that is built into `zvf serve`.
    viewer: Option<&'static str>,
}

impl Version {
    /// Describes this build of the program.
    pub(crate) fn new() -> Self {
        let optional = [
            ("parquet", cfg!(feature = "parquet")),
            ("laz", cfg!(feature = "laz")),
        ];
        let is_built = |ending: &&str| !optional.contains(&(*ending, false));
        Self {
            program: "zvf",
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("ZVF_COMMIT"),
            reads: "0.6 to 0.9.4",
            writes: ["0.9.2", "0.8.1"],
            files: Format::endings().filter(is_built).collect(),
            volumes: match cfg!(feature = "volumes") {
                true => &["tet", "b2nd", "zarr"],
                false => &[],
            },
            storage: match cfg!(feature = "cloud") {
                true => &["s3://", "gs://", "az://", "http(s)://"],
                false => &[],
            },
            viewer: cfg!(feature = "viewer").then_some("2.41.2"),
        }
    }

    /// As text.
    pub(super) fn text(&self) -> String {
        let listed = |before: &str, list: &[&str]| match list {
            [] => String::new(),
            list => format!("{before}{}", list.join(", ")),
        };
        let commit = self.commit.map(|commit| format!(" ({commit})"));
        let viewer = self.viewer.map(|version| {
            format!(
                "\nviewer   Neuroglancer {version} at / of `zvf serve`; its licences are at /LICENSES.txt"
            )
        });
        format!(
            "{}{}\nstores   reads Zarr Vectors {}, writes {}\nfiles    {}{}\nstorage  folders{}{}",
            self.version,
            commit.unwrap_or_default(),
            self.reads,
            self.writes.join(" and "),
            self.files.join(", "),
            listed("; volumes: ", self.volumes),
            listed(", ", self.storage),
            viewer.unwrap_or_default(),
        )
    }
}
