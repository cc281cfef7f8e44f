//! Serves Zarr Vectors stores over HTTP.
//!
//! A [`Server`] is bound to an address with [`ServeOptions`]. [`zvf_neuroglancer::export_precomputed`] writes the same views as files for a bucket.
//!
//! | path | answer |
//! |---|---|
//! | `/store/NAME/…` | the objects of a store as they are stored: GET, HEAD, single ranges, ETags; folders as pages of links |
//! | `/precomputed/NAME/…` | views for Neuroglancer, made on demand: `points`, `lines`, `skeletons`, `multilod`, `meshes` |
//! | `/query` | rows of a query, as an Arrow stream or JSON |
//! | `/stores`, `/state.json` | the list of stores, and a state of Neuroglancer that shows all of them |
//! | `/` | with the feature `viewer` Neuroglancer in that state, else as `/stores` |
//!
//! The content of views is made by `zvf-neuroglancer`.
//!
//! ```
//! use zvf_serve::{ServeOptions, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let store = zvf_testkit::unpack("points_ids")?;
//! # let stores = [store.path().display().to_string()];
//! zvf_store::blocking::Runtime::new()?.wait(async {
//!     let server = Server::bind(&stores, ServeOptions::new()).await?;
//!     assert!(server.url().starts_with("http://127.0.0.1:"));
//!     // Until Ctrl-C, in a program.
//!     server.run(async {}).await;
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Access
//!
//! On the loopback address every client may send requests, including web pages of any origin, because viewers in the browser
//! are web pages. On every other address paths begin with an [`AccessToken`].
//!
//! # Limits
//!
//! Connections and computed views are bounded, further ones wait. Objects are sent in pieces of 1 MiB. The answer of a view
//! has at most 64 MiB; a larger one is refused with 413. Paths are decoded once and cannot lead upwards; a symbolic link is
//! followed only inside its store. Nothing panics on input.

mod base;
mod http_error;
mod listing;
mod log;
mod opened;
mod page;
mod path;
mod query;
mod range;
mod reply;
mod server;
mod sources;
mod store_files;
mod token;
#[cfg(feature = "viewer")]
mod viewer;
mod views;

pub use log::Log;
pub use server::{ServeError, ServeOptions, Server};
pub use token::AccessToken;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
