import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { outputOf } from "../../command-line/output-of.ts";
import type { Binaries } from "./find-binaries.ts";
import { PostgresError } from "./postgres-error.ts";

/** The user that the server runs as; undefined: the current one. */
export type ServerUser = { uid: number; gid: number } | undefined;

/**
 * Postgres refuses to run as root. Under root it therefore runs as the owner of existing data, else as `postgres`, else as
 * `nobody`. initdb needs an existing user; none is created.
 */
export async function chooseServerUser(dataDir: string): Promise<ServerUser> {
  if (Deno.uid() !== 0) return undefined;
  const owner = await ownerOf(dataDir);
  if (owner !== undefined) return owner;
  for (const name of ["postgres", "nobody"]) {
    const user = await lookUp(name);
    if (user !== undefined) return user;
  }
  throw new PostgresError(
    "no_server_user",
    "Postgres does not run as root and this machine has neither a user postgres nor nobody: start as an ordinary user.",
  );
}

async function canEnter(user: ServerUser, folder: string): Promise<boolean> {
  if (user === undefined) return true;
  const probe = new Deno.Command("/bin/sh", { args: ["-c", 'cd "$0"', folder], ...user, cwd: "/", stderr: "null" });
  return (await probe.output()).success;
}

async function ownerOf(dataDir: string): Promise<ServerUser> {
  const info = await Deno.stat(`${dataDir}/PG_VERSION`).catch(() => undefined);
  // null on a system without numeric owners
  if (info === undefined || !info.uid || info.gid === null) return undefined;
  return { uid: info.uid, gid: info.gid };
}

async function lookUp(name: string): Promise<ServerUser> {
  const { stdout } = await new Deno.Command("id", { args: [name], stderr: "null" }).output();
  const [, uid, gid] = /^uid=(\d+)\S* gid=(\d+)/.exec(new TextDecoder().decode(stdout)) ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Used under root only: an ordinary user can enter its own folders. */
const CACHE = "/var/cache/keyframe";

/** The binaries where the server's user can reach them: in place, else a copy that later starts reuse. */
export async function placeBinaries(
  binaries: Binaries,
  user: ServerUser,
  onLog: (line: string) => void,
): Promise<Binaries> {
  if (await canEnter(user, `${binaries.root}/bin`)) return binaries;
  const origin = createHash("sha256").update(binaries.root).digest("hex").slice(0, 12);
  const target = `${CACHE}/postgres-${binaries.version}-${origin}`;
  if (!existsSync(target)) {
    onLog(`The database's user cannot enter ${binaries.root}: copying Postgres to ${target}`);
    await copyWhole(binaries.root, target);
  }
  return { ...binaries, root: target };
}

/** Renames the finished copy last, so that an interrupted one is never used. */
async function copyWhole(from: string, to: string): Promise<void> {
  await Deno.mkdir(CACHE, { recursive: true, mode: 0o755 });
  const unfinished = await Deno.makeTempDir({ dir: CACHE, prefix: "unfinished-" });
  try {
    await outputOf("cp", ["-PR", from, `${unfinished}/native`]);
    if (!existsSync(to)) await Deno.rename(`${unfinished}/native`, to);
  } finally {
    await Deno.remove(unfinished, { recursive: true });
  }
}

/** Used under root only. */
const ELSEWHERE = "/var/lib/keyframe";
const POINTER = "location";

/**
 * The folder with the data. It is `dataDir`, unless the server's user cannot reach that (root's 0700 home): then it is a folder in
 * /var/lib/keyframe that the file `location` in `dataDir` names. Without `dataDir` the next start uses a new one.
 */
export async function placeData(dataDir: string, user: ServerUser, onLog: (line: string) => void): Promise<string> {
  await Deno.mkdir(dirname(dataDir), { recursive: true });
  const moved = await readPointer(dataDir);
  if (moved !== undefined) return moved;
  if (await canEnter(user, dirname(dataDir))) return dataDir;
  await Deno.mkdir(ELSEWHERE, { recursive: true, mode: 0o755 });
  const folder = await Deno.makeTempDir({ dir: ELSEWHERE, prefix: `${basename(dataDir)}-` });
  await Deno.chmod(folder, 0o711);
  await Deno.mkdir(dataDir, { recursive: true, mode: 0o700 });
  await Deno.writeTextFile(join(dataDir, POINTER), folder);
  onLog(`The database's user cannot enter ${dirname(dataDir)}: its data is in ${folder}`);
  return join(folder, "data");
}

/** Removes the data, even from /var/lib/keyframe. The server must be stopped. */
export async function removePostgresData(dataDir: string): Promise<void> {
  const moved = await readPointer(dataDir);
  const folders = moved === undefined ? [dataDir, `${dataDir}.new`, `${dataDir}.password`] : [dirname(moved), dataDir];
  for (const folder of folders) {
    if (existsSync(folder)) await Deno.remove(folder, { recursive: true });
  }
}

async function readPointer(dataDir: string): Promise<string | undefined> {
  const folder = await Deno.readTextFile(join(dataDir, POINTER)).catch(() => undefined);
  // Root removes the folder that the file names, so it must be one of ours.
  return folder !== undefined && dirname(folder) === ELSEWHERE ? join(folder, "data") : undefined;
}
