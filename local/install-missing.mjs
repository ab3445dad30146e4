// Runs under plain Node before anything of ours can: installs what package-lock.json names, when it is not there yet.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const has = (path) => existsSync(new URL(path, root));
const read = (path) => JSON.parse(readFileSync(new URL(path, root), "utf8"));

/** npm keeps a copy of the lock file of what it installed; it names each package with its version. */
function isInstalled() {
  if (!has("node_modules/.bin/deno")) return false;
  const wanted = read("package-lock.json").packages;
  let installed;
  try {
    installed = read("node_modules/.package-lock.json").packages;
  } catch {
    return false; // missing, or cut short
  }
  return Object.entries(wanted).every(
    ([path, wish]) =>
      path === "" || !isNeeded(wish) || (installed[path]?.version === wish.version && has(`${path}/package.json`)),
  );
}

/** Of the optional packages those that are programs for this very machine: Deno, Postgres and the Supabase CLI come so. */
function isNeeded({ optional, peer, os, cpu, libc }) {
  if (!optional) return !peer;
  return Boolean(os?.includes(process.platform) && cpu?.includes(process.arch) && (!libc || libc.includes(libcHere())));
}

let libcKnown;
function libcHere() {
  if (libcKnown) return libcKnown;
  process.report.excludeNetwork = true; // which it would take long to describe
  libcKnown = process.report.getReport().header.glibcVersionRuntime ? "glibc" : "musl";
  return libcKnown;
}

if (!isInstalled()) {
  console.log("Installing what is missing (npm ci), about half a minute …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status, error } = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) {
    console.error(`npm ci failed (${error?.message ?? "see above"}). Mend it, then run the command again.`);
    process.exit(1);
  }
}
