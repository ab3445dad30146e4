// Runs under plain Node before anything of ours can: installs what package-lock.json names, when it is not there yet.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const has = (path) => existsSync(new URL(path, root));
const read = (path) => readFileSync(new URL(path, root), "utf8");

/** npm keeps a copy of the lock file of what it installed; it names each package with its version. */
function isInstalled() {
  if (!has("node_modules/.package-lock.json") || !has("node_modules/.bin/deno")) return false;
  const installed = JSON.parse(read("node_modules/.package-lock.json")).packages;
  const wanted = JSON.parse(read("package-lock.json")).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional, peer }]) => path === "" || optional || peer || installed[path]?.version === version,
  );
}

if (!isInstalled()) {
  console.log("Installing what is missing (npm ci) …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status } = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) {
    console.error("npm ci failed (see above). Mend it, then run the command again.");
    process.exit(1);
  }
}
