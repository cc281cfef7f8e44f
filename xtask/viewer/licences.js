// LICENSES.txt of the viewer: the packages of every module in it with their licences, the notices in the modules, and those of
// compiled code.
import fs from "node:fs";
import path from "node:path";

/**
 * Two plugins that share what they find: `collect` for the page and for each worker, `emit` for the page.
 * @param {string} own the folder of this page's own sources
 * @param {string} notice a file with what the sources do not say
 */
export function licences(own, notice) {
  const modules = new Set();
  const collect = () => ({
    name: "collect-licences",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        for (const id of Object.keys(chunk.modules ?? {})) {
          const file = id.replace(/[?#].*/, "");
          if (path.isAbsolute(file) && fs.existsSync(file)) modules.add(file);
        }
      }
    },
  });
  const emit = () => ({
    name: "emit-licences",
    generateBundle() {
      const source = document([...modules].sort(), own, notice);
      this.emitFile({ type: "asset", fileName: "LICENSES.txt", source });
    },
  });
  return { collect, emit };
}

function document(modules, own, notice) {
  const parts = [fs.readFileSync(notice, "utf8")];
  const notices = new Set();
  const packages = new Map();
  for (const file of modules) {
    const folder = packageOf(file);
    if (folder === undefined) {
      if (!file.startsWith(own)) throw new Error(`${file} is of no package`);
      continue;
    }
    packages.set(folder, JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")));
    for (const [comment] of fs.readFileSync(file, "utf8").matchAll(/\/\*[\s\S]*?\*\//g)) {
      if (/copyright|@license|\(c\)/i.test(comment)) notices.add(comment);
    }
  }
  for (const [folder, { name, version, license }] of packages) {
    const texts = fs.readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
    if (texts.length === 0) throw new Error(`${name} has no licence text`);
    parts.push(`${name} ${version} (${license})\n`);
    parts.push(...texts.map((file) => fs.readFileSync(path.join(folder, file), "utf8")));
  }
  parts.push("Notices in the source files\n", ...notices);
  return parts.map((part) => part.trimEnd()).join(`\n\n${"-".repeat(80)}\n\n`) + "\n";
}

// The folder of the package that a file is of.
function packageOf(file) {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0];
}
