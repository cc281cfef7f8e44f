# Installs zvf @VERSION@ for one user: downloads the archive, checks its SHA-256 sum, and copies the program below LOCALAPPDATA.
# ZVF_PREFIX names another folder to install into, ZVF_URL another address of the archives.
$ErrorActionPreference = 'Stop'
$prefix = if ($env:ZVF_PREFIX) { $env:ZVF_PREFIX } else { Join-Path $env:LOCALAPPDATA 'Programs\zvf' }
$url = if ($env:ZVF_URL) { $env:ZVF_URL } else { '@URL@' }
# Windows on ARM runs programs for x86_64, too.
$name = 'zvf-@VERSION@-x86_64-windows'
$folder = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
New-Item -ItemType Directory -Path $folder | Out-Null
try {
    $archive = Join-Path $folder "$name.tar.gz"
    Invoke-WebRequest -UseBasicParsing -Uri "$url/$name.tar.gz" -OutFile $archive
    Invoke-WebRequest -UseBasicParsing -Uri "$url/$name.tar.gz.sha256" -OutFile "$archive.sha256"
    $wanted = ((Get-Content "$archive.sha256") -split '\s+')[0]
    $found = (Get-FileHash -Algorithm SHA256 -Path $archive).Hash
    if ($found -ne $wanted) { throw "$name.tar.gz has the checksum $found, expected ${wanted}: nothing was installed" }
    tar -xzf $archive -C $folder
    if ($LASTEXITCODE -ne 0) { throw "$name.tar.gz cannot be unpacked" }
    New-Item -ItemType Directory -Force -Path $prefix | Out-Null
    Copy-Item -Force -Path (Join-Path $folder "$name\zvf.exe") -Destination $prefix
    Copy-Item -Force -Path (Join-Path $folder "$name\zvf.powershell") -Destination (Join-Path $prefix 'zvf-completions.ps1')
} finally {
    Remove-Item -Recurse -Force -Path $folder
}
Write-Output "zvf @VERSION@ is $(Join-Path $prefix 'zvf.exe')"
if (($env:PATH -split ';') -notcontains $prefix) { Write-Output "add $prefix to PATH" }
