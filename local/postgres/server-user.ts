import { PostgresError } from "./postgres-error.ts";

/** Whom the server runs as; undefined: ourselves. */
export type ServerUser = { uid: number; gid: number } | undefined;

/**
 * Postgres refuses to run as root. As root it therefore runs as the owner of the data that are there already, else as
 * `postgres`, else as `nobody`. It has to be a user of the machine (initdb looks its name up), and none is ever made.
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

/** Whether the server's user may enter the folder. */
export async function canEnter(user: ServerUser, folder: string): Promise<boolean> {
  if (user === undefined) return true;
  const probe = new Deno.Command("/bin/sh", { args: ["-c", 'cd "$0"', folder], ...user, cwd: "/", stderr: "null" });
  return (await probe.output()).success;
}

async function ownerOf(dataDir: string): Promise<ServerUser> {
  const info = await Deno.stat(`${dataDir}/PG_VERSION`).catch(() => undefined);
  // null: a system without numeric owners
  if (info === undefined || !info.uid || info.gid === null) return undefined;
  return { uid: info.uid, gid: info.gid };
}

async function lookUp(name: string): Promise<ServerUser> {
  const [uid, gid] = await Promise.all([id("-u", name), id("-g", name)]);
  return uid && gid !== undefined ? { uid, gid } : undefined;
}

async function id(flag: string, name: string): Promise<number | undefined> {
  const { success, stdout } = await new Deno.Command("id", { args: [flag, name], stderr: "null" }).output();
  return success ? Number(new TextDecoder().decode(stdout)) : undefined;
}
