// Bundles src/ into one HTML file without data, and writes it as a C++ source that holds it. Where npm cannot install what
// package-lock.json names, that source says so instead, the build goes on, and the next one tries again.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));

function option(name) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

function modified(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

function install(npm) {
  const installed = join(root, "node_modules/.package-lock.json");
  if (modified(installed) > modified(join(root, "package-lock.json"))) return;
  const done = spawnSync(npm, ["ci", "--ignore-scripts", "--loglevel=error"], { cwd: root, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`npm ci failed: ${(done.stderr || String(done.error ?? `status ${done.status}`)).trim().split("\n")[0]}`);
}

function hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

async function bundle() {
  const { build } = await import("esbuild");
  const result = await build({
    absWorkingDir: root,
    entryPoints: { page: "src/main.ts" },
    bundle: true,
    minify: true,
    write: false,
    outdir: "out",
    target: ["es2020", "chrome90", "firefox113", "safari16"],
    legalComments: "none",
    // What the licence of the one library in the page asks for.
    banner: { js: `/* uPlot\n${readFileSync(join(root, "node_modules/uplot/LICENSE"), "utf8").trim()}\n*/` },
    charset: "utf8",
  });
  const text = (ending) => result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
  // An end tag within the program would end it.
  const script = text(".js").replaceAll("</script", "<\\/script");
  const style = text(".css");
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
  return readFileSync(join(root, "src/page.html"), "utf8")
    .replace("@@POLICY@@", () => policy)
    .replace("@@STYLE@@", () => style)
    .replace("@@SCRIPT@@", () => script);
}

function source(shell, missing) {
  const bytes = [...Buffer.from(shell)].join(",").replace(/(.{110}[^,]*),/g, "$1,\n");
  return `// Generated from ui/.
#include "tool/html/html.hpp"

namespace heapledger::html {
namespace {
constexpr unsigned char shell[] = {${bytes === "" ? "0" : bytes}};
}  // namespace

std::string_view page_shell() {
  return {reinterpret_cast<const char*>(shell), ${Buffer.byteLength(shell)}};
}

std::string_view page_shell_missing() {
  return ${JSON.stringify(missing)};
}

}  // namespace heapledger::html
`;
}

const out = option("out");
rmSync(`${out}.done`, { force: true });
try {
  if (Number(process.versions.node.split(".")[0]) < 18) throw new Error(`node ${process.versions.node} is older than 18`);
  install(option("npm") ?? "npm");
} catch (error) {
  console.error(`heapledger will have no page: ${error.message}`);
  writeFileSync(out, source("", `this heapledger has no page, for when it was built ${error.message}; build it again`));
  process.exit(0);
}
writeFileSync(out, source(await bundle(), ""));
writeFileSync(`${out}.done`, "");
