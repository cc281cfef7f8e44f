#!/bin/sh
# Installs zvf @VERSION@ for one user: downloads the archive for this system, checks its SHA-256 sum, and copies the program, its manual
# pages and completions below ~/.local. ZVF_PREFIX names another folder to install into, ZVF_URL another address of the archives.
set -eu

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

download() {
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null; then
        wget --quiet --output-document "$2" "$1"
    else
        fail "curl or wget is needed"
    fi
}

check() {
    if command -v sha256sum >/dev/null; then
        sha256sum --check "$1" >/dev/null
    else
        shasum --algorithm 256 --check "$1" >/dev/null
    fi
}

# A function, so that a script that arrives only in part does nothing.
main() {
    prefix="${ZVF_PREFIX:-$HOME/.local}"
    url="${ZVF_URL:-@URL@}"
    case "$(uname -s)" in
        Linux) system=linux ;;
        Darwin) system=macos ;;
        *) fail "no archive for $(uname -s): cargo install zvf-cli" ;;
    esac
    case "$(uname -m)" in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "no archive for $(uname -m): cargo install zvf-cli" ;;
    esac
    name="zvf-@VERSION@-$machine-$system"
    archive="$name.tar.gz"
    folder="$(mktemp -d)"
    trap 'rm -rf "$folder"' EXIT
    download "$url/$archive" "$folder/$archive" || fail "$url/$archive was not downloaded"
    download "$url/$archive.sha256" "$folder/$archive.sha256" || fail "$url/$archive.sha256 was not downloaded"
    (cd "$folder" && check "$archive.sha256") || fail "$archive is not what its checksum says: nothing was installed"
    tar -xzf "$folder/$archive" -C "$folder"
    from="$folder/$name"
    "$from/zvf" --version >/dev/null || fail "the program does not run on this system: cargo install zvf-cli"

    share="$prefix/share"
    mkdir -p "$prefix/bin" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
        "$share/fish/vendor_completions.d"
    # A program that runs cannot be overwritten, but replaced.
    cp "$from/zvf" "$prefix/bin/.zvf.new"
    mv -f "$prefix/bin/.zvf.new" "$prefix/bin/zvf"
    cp "$from"/man/*.1 "$share/man/man1"
    cp "$from/zvf.bash" "$share/bash-completion/completions/zvf"
    cp "$from/zvf.zsh" "$share/zsh/site-functions/_zvf"
    cp "$from/zvf.fish" "$share/fish/vendor_completions.d/zvf.fish"
    echo "zvf @VERSION@ is $prefix/bin/zvf"
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) echo "add $prefix/bin to PATH" ;;
    esac
}

main
