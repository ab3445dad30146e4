import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { canEnter, type ServerUser } from "./server-user.ts";

/** Only root ever needs it, and only root may write here. */
const ELSEWHERE = "/var/lib/keyframe";
const POINTER = "location";

/**
 * The folder that holds the data: `dataDir`, or, where the server's user cannot reach that (root's 0700 home), one in
 * /var/lib/keyframe that a file `location` in `dataDir` points at. Whoever removes `dataDir` thereby starts anew.
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
  onLog(`The database's user cannot enter ${dirname(dataDir)}: its data are in ${folder}`);
  return join(folder, "data");
}

/** Removes the data wherever they are. The server must be stopped. */
export async function removePostgresData(dataDir: string): Promise<void> {
  const moved = await readPointer(dataDir);
  const folders = moved === undefined ? [dataDir, `${dataDir}.new`, `${dataDir}.password`] : [dirname(moved), dataDir];
  for (const folder of folders) {
    if (existsSync(folder)) await Deno.remove(folder, { recursive: true });
  }
}

async function readPointer(dataDir: string): Promise<string | undefined> {
  const folder = await Deno.readTextFile(join(dataDir, POINTER)).catch(() => undefined);
  // Root follows the pointer and removes what it names, so it may name nothing but a folder of ours.
  return folder !== undefined && dirname(folder) === ELSEWHERE ? join(folder, "data") : undefined;
}
