import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Binaries, brokenInstall, programOf } from "./find-binaries.ts";
import { PostgresError } from "./postgres-error.ts";
import type { ServerUser } from "./server-user.ts";

export const SUPERUSER = "supabase_admin";
const PASSWORD_FILE = "keyframe-password";

/**
 * Creates a cluster in `dataDir` unless there is one, and returns the superuser's password. A folder with other content,
 * or a cluster of another major version, is an error and is not changed.
 */
export async function initCluster(
  dataDir: string,
  binaries: Binaries,
  user: ServerUser,
  durable: boolean,
): Promise<string> {
  if (!(await isCluster(dataDir, binaries.version))) await create(dataDir, binaries, user, durable);
  try {
    return (await Deno.readTextFile(join(dataDir, PASSWORD_FILE))).trim();
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) throw notOurs(dataDir);
    throw broken(dataDir, `${PASSWORD_FILE} is missing`);
  }
}

export function broken(dataDir: string, why: string): PostgresError {
  return new PostgresError(
    "data_broken",
    `The database's data in ${dataDir} cannot be used (${why}): use \`--reset\`, which deletes it and starts again.`,
  );
}

export function notOurs(dataDir: string): PostgresError {
  return new PostgresError(
    "data_not_ours",
    `The database's data in ${dataDir} belongs to another user: start as that user, or as root with \`--reset\`.`,
  );
}

async function isCluster(dataDir: string, version: string): Promise<boolean> {
  if (await isMissingOrEmpty(dataDir)) return false;
  const found = await Deno.readTextFile(join(dataDir, "PG_VERSION")).catch(() => "");
  const major = version.split(".")[0];
  if (found.trim() === "") throw broken(dataDir, "it holds no Postgres cluster");
  if (found.trim() === major) return true;
  throw new PostgresError(
    "data_other_version",
    `The database's data in ${dataDir} is of Postgres ${found.trim()}, this is ${major}: use \`--reset\`, which deletes it and starts again.`,
  );
}

async function isMissingOrEmpty(dataDir: string): Promise<boolean> {
  try {
    for await (const _entry of Deno.readDir(dataDir)) return false;
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    if (error instanceof Deno.errors.PermissionDenied) throw notOurs(dataDir);
    throw broken(dataDir, error instanceof Error ? error.message : String(error));
  }
}

/** Renames the finished cluster last, so that a killed initdb never leaves half a cluster in `dataDir`. */
async function create(dataDir: string, binaries: Binaries, user: ServerUser, durable: boolean): Promise<void> {
  const unfinished = `${dataDir}.new`;
  const passwordFile = `${dataDir}.password`;
  for (const left of [unfinished, passwordFile, dataDir]) {
    if (existsSync(left)) await Deno.remove(left, { recursive: true });
  }
  await Deno.mkdir(unfinished, { mode: 0o700 });
  const secret = crypto.getRandomValues(new Uint8Array(32)).toHex();
  await Deno.writeTextFile(passwordFile, secret, { mode: 0o600, createNew: true });
  if (user) {
    await Deno.chown(unfinished, user.uid, user.gid);
    await Deno.chown(passwordFile, user.uid, user.gid);
  }
  await runInitdb(unfinished, passwordFile, binaries, user, durable);
  await Deno.rename(passwordFile, join(unfinished, PASSWORD_FILE));
  await Deno.rename(unfinished, dataDir);
}

async function runInitdb(
  dataDir: string,
  passwordFile: string,
  binaries: Binaries,
  user: ServerUser,
  durable: boolean,
): Promise<void> {
  const args = [`--pgdata=${dataDir}`, `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
  // The built-in locale sorts the same on every machine.
  args.push("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8");
  args.push("--no-instructions", ...(durable ? [] : ["--no-sync"]));
  const command = new Deno.Command(programOf(binaries, "initdb"), { args, ...user, cwd: "/", ...plainEnvironment });
  const { success, stdout, stderr } = await command.output();
  if (success) return;
  const output = new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout);
  if (/shared librar|Library not loaded/.test(output)) throw brokenInstall(binaries.root);
  const line = output.split("\n").find((text) => /error|fatal|panic/i.test(text)) ?? output.trim();
  throw new PostgresError("start_failed", `The database cannot be made in ${dataDir}: ${line.trim()}`);
}

/** An environment without the caller's PG* and locale variables, which would change Postgres's behaviour and messages. */
export const plainEnvironment = {
  clearEnv: true,
  env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
};
