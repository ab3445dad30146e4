// Runs in plain Node before every command. Installs the packages of package-lock.json that are missing, in the folder that is named or in the
// repository.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const folder = process.argv[2];
const root = new URL(folder === undefined ? "../" : `../${folder}/`, import.meta.url);
const has = (path) => existsSync(new URL(path, root));
const read = (path) => JSON.parse(readFileSync(new URL(path, root), "utf8"));

/** Compares package-lock.json with npm's own record of what it has installed. */
function isInstalled() {
  if (folder === undefined && !has("node_modules/.bin/deno")) return false;
  const required = read("package-lock.json").packages;
  let installed;
  try {
    installed = read("node_modules/.package-lock.json").packages;
  } catch {
    return false; // missing, or cut short
  }
  return Object.entries(required).every(
    ([path, wish]) =>
      path === "" || !isNeeded(wish) || (installed[path]?.version === wish.version && has(`${path}/package.json`)),
  );
}

/** An optional package is needed if it is for this machine: the programs of Deno, Postgres and the Supabase CLI. */
function isNeeded({ optional, peer, os, cpu, libc }) {
  if (!optional) return !peer;
  return Boolean(os?.includes(process.platform) && cpu?.includes(process.arch) && (!libc || libc.includes(libcHere())));
}

let libcKnown;
function libcHere() {
  if (libcKnown) return libcKnown;
  process.report.excludeNetwork = true; // Describing the network takes long.
  libcKnown = process.report.getReport().header.glibcVersionRuntime ? "glibc" : "musl";
  return libcKnown;
}

if (!isInstalled()) {
  const where = folder === undefined ? "about half a minute" : `in ${folder}, some seconds`;
  console.log(`Installing missing packages (npm ci), ${where} …`);
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status, error } = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) {
    console.error(`npm ci failed (${error?.message ?? "see above"}). Fix this, then run the command again.`);
    process.exit(1);
  }
}
