//! `zvf serve`.

use std::net::IpAddr;

use clap::Args;

/// Serves stores over HTTP, as they are stored and as views of Neuroglancer, until it is interrupted.
///
/// The first line on stdout is `listening on http://HOST:PORT`. Below that address: `/stores` lists what is served, `/state.json` is a
/// state of Neuroglancer that shows all of it, `/store/NAME/…` are the objects of a store, `/precomputed/NAME/…` its views, and
/// `/query` answers queries. NAME is the last part of STORE without its ending. `/` is Neuroglancer itself where `zvf --version`
/// lists a viewer, else the same as `/stores`.
#[derive(Debug, Args)]
#[command(after_help = help!("serve"))]
pub(crate) struct ServeArgs {
    /// Paths or URLs of stores
    #[arg(value_name = "STORE", required = true)]
    pub(crate) stores: Vec<String>,
    /// The address to bind; unless it is a loopback address, all paths begin with a secret segment
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port to bind; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Prints one line on stderr for each request: method, path, range, status, bytes, milliseconds until the answer began
    #[arg(long)]
    pub(crate) log_requests: bool,
    /// Opens the page of the server, `/`, in the browser of the desktop
    #[arg(long)]
    pub(crate) open: bool,
}
