//! `zvf serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, Result, bail};

use crate::run::{Home, STORE, command};

/// A running server, killed when it is dropped.
pub(crate) struct Serving {
    child: Child,
    /// The first line that it printed.
    line: String,
}

impl Serving {
    fn start(home: &Home, args: &[&str]) -> Result<Self> {
        Self::start_in(&home.path(), args)
    }

    pub(crate) fn start_in(folder: &Path, args: &[&str]) -> Result<Self> {
        let mut child = command(folder, args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        Ok(Self { child, line })
    }

    /// HOST:PORT, and the path of the server's page.
    pub(crate) fn address(&self) -> Result<(&str, &str)> {
        let url = self.line.trim_end().strip_prefix("listening on http://");
        let url = url.with_context(|| self.line.clone())?;
        Ok(url.split_once('/').unwrap_or((url, "")))
    }

    pub(crate) fn get(&self, path: &str) -> Result<String> {
        self.send("GET", path, "")
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Result<String> {
        let (host, _) = self.address()?;
        let mut stream = TcpStream::connect(host)?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply)?;
        Ok(String::from_utf8_lossy(&reply).into_owned())
    }

    /// Sends a signal; returns the exit code and stderr.
    #[cfg(unix)]
    fn end(mut self, signal: &str) -> Result<(Option<i32>, String)> {
        let kill = format!("kill -{signal} {}", self.child.id());
        let killed = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status()?;
        assert!(killed.success());
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().context("stderr")?;
        stderr.read_to_string(&mut said)?;
        Ok((self.child.wait()?.code(), said))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn a_server_answers_until_it_is_interrupted() -> Result<()> {
    for signal in ["INT", "TERM"] {
        let home = Home::new("points_ids")?;
        let serving = Serving::start(&home, &["serve", STORE, "--log-requests"])?;
        assert!(
            serving.address()?.0.starts_with("127.0.0.1:"),
            "{}",
            serving.line
        );
        let root = serving.get("/store/store/zarr.json")?;
        assert!(root.starts_with("HTTP/1.1 200 OK"), "{root}");
        assert!(root.contains("zarr_vectors"), "{root}");
        let state = serving.get("/state.json")?;
        assert!(state.contains("precomputed://http://127.0.0.1:"), "{state}");
        assert!(serving.get("/nothing")?.starts_with("HTTP/1.1 404"));
        let (code, said) = serving.end(signal)?;
        assert_eq!(code, Some(0), "{said}");
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 3, "{said}");
        assert!(
            lines[0].starts_with("zvf: GET /store/store/zarr.json - 200 "),
            "{said}"
        );
        let [.., milliseconds] = lines[2].split(' ').collect::<Vec<_>>()[..] else {
            panic!("{said}");
        };
        assert!(lines[2].starts_with("zvf: GET /nothing - 404 "), "{said}");
        assert!(milliseconds.parse::<f64>()? >= 0.0, "{said}");
    }
    Ok(())
}

#[test]
fn other_addresses_have_a_secret() -> Result<()> {
    let home = Home::new("points_ids")?;
    let serving = Serving::start(&home, &["serve", STORE, "--host", "0.0.0.0"])?;
    let (_, secret) = serving.address()?;
    assert_eq!(secret.len(), 32, "{}", serving.line);
    assert!(
        serving
            .get("/store/store/zarr.json")?
            .starts_with("HTTP/1.1 404")
    );
    let path = format!("/{secret}/store/store/zarr.json");
    assert!(serving.get(&path)?.starts_with("HTTP/1.1 200"));
    Ok(())
}

/// `--open` runs the desktop's program for URLs with the page of the server.
#[cfg(target_os = "linux")]
#[test]
fn open_asks_the_desktop_for_the_page() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new("points_ids")?;
    let program = home.file("xdg-open");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$1\" > \"$0.said\"\n")?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let mut child = command(&home.path(), &["serve", STORE, "--open"])
        .env("PATH", home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("stdout")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let serving = Serving { child, line };
    let (address, _) = serving.address()?;
    let wanted = format!("http://{address}\n");
    let mut said = String::new();
    for _ in 0..600 {
        said = std::fs::read_to_string(home.file("xdg-open.said")).unwrap_or_default();
        if said.ends_with('\n') {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(said, wanted);
    Ok(())
}

#[test]
fn what_cannot_be_served_is_said() -> Result<()> {
    let home = Home::new("points_ids")?;
    for (args, code) in [
        (vec!["serve"], 2),
        (vec!["serve", STORE, "--host", "nowhere"], 2),
        (vec!["serve", STORE, "--port", "65536"], 2),
        (vec!["serve", "ftp://host/x"], 2),
        (vec!["serve", STORE, "--host", "192.0.2.1"], 3),
    ] {
        let ran = home.zvf(&args)?;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        if ran.stderr.is_empty() {
            bail!("{args:?}: nothing was said");
        }
    }
    Ok(())
}

#[test]
fn time_is_a_dimension_of_its_own_and_left_out_of_space() -> Result<()> {
    let home = Home::made(&[
        ("../n.csv", "t,x,y,z\n0,1,2,3\n1,2,3,4\n2,3,4,5\n".into()),
        ("../e.csv", "source,target\n0,1\n1,2\n".into()),
    ])?;
    let line = "import n.csv graph.zv --edges e.csv --position t,x,y,z --unit um,t=30s";
    home.text(&line.split(' ').collect::<Vec<_>>())?;
    home.text(
        &"import n.csv points.zv --position t,x,y,z --unit um,t=30s"
            .split(' ')
            .collect::<Vec<_>>(),
    )?;
    let serving = Serving::start(&home, &["serve", "graph.zv", "points.zv"])?;
    let document = |path: &str| -> Result<serde_json::Value> {
        let reply = serving.get(path)?;
        anyhow::ensure!(reply.starts_with("HTTP/1.1 200"), "{path}: {reply}");
        let (_, body) = reply.split_once("\r\n\r\n").context("a body")?;
        Ok(serde_json::from_str(body)?)
    };
    let state = document("/state.json")?;
    // Axes of space are first, because the viewer displays the first three.
    let dimensions = state["dimensions"].as_object().context("dimensions")?;
    assert_eq!(dimensions.keys().collect::<Vec<_>>(), ["x", "y", "z", "t"]);
    assert_eq!(state["dimensions"]["t"], serde_json::json!([1.0, "s"]));
    assert_eq!(state["dimensions"]["z"], serde_json::json!([1e-6, "m"]));
    // Every layer has an existing source, and axes that are left out are reported.
    for layer in state["layers"].as_array().context("layers")? {
        let source = layer["source"].as_str().context("a source")?;
        let at = source.find("/precomputed/").context("a path")?;
        document(&format!("{}/info", &source[at..]))?;
    }
    let skeletons = document("/precomputed/graph/skeletons/info")?;
    assert_eq!(skeletons["zvf"]["left_out"][0], "axis t");
    let layers = state["layers"].to_string();
    assert!(
        layers.contains("graph skeletons (without axis t)"),
        "{layers}"
    );
    let points = document("/precomputed/points/points/info")?;
    assert_eq!(points["dimensions"]["t"], serde_json::json!([1.0, "s"]));
    // Positions are in space: x of the first vertex is 1 micrometer.
    let reply = serving.get("/precomputed/graph/skeletons/0")?;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    Ok(())
}
