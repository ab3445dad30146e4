import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { checkGivenPostgres } from "../../../local/stack/open-database.ts";
import { programOf } from "../../../local/postgres/find-binaries.ts";
import { chooseServerUser, placeBinaries, removePostgresData } from "../../../local/postgres/server-user.ts";
import { type RunningPostgres, startPostgres } from "../../../local/postgres/start-postgres.ts";
import { until } from "../../support/until.ts";

const asRoot = Deno.uid() === 0;
let folder: string;
let dataDir: string;
let server: RunningPostgres | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-postgres-"));
  await Deno.chmod(folder, 0o755);
  dataDir = join(folder, "data");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await server?.stop();
  server = undefined;
  await removePostgresData(dataDir);
  await rm(folder, { recursive: true });
});

/** A cluster that was stopped. Most tests begin with a copy: initdb takes longer than all else here. */
let made: string;
beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), "keyframe-postgres-made-"));
  await Deno.chmod(made, 0o755);
  const first = await startPostgres({ dataDir: join(made, "data"), durable: false });
  await first.stop();
});
afterAll(() => rm(made, { recursive: true }));

async function copyMade(): Promise<void> {
  const copy = await new Deno.Command("cp", { args: ["-a", join(made, "data"), dataDir] }).output();
  if (!copy.success) throw new Error(new TextDecoder().decode(copy.stderr));
}

async function startCopy(): Promise<RunningPostgres> {
  await copyMade();
  return await start();
}

async function start(options: { port?: number } = {}): Promise<RunningPostgres> {
  server = await startPostgres({ dataDir, durable: false, ...options });
  return server;
}

async function query(url: string, text: string): Promise<postgres.Row[]> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return [...(await sql.unsafe(text))];
  } finally {
    await sql.end();
  }
}

function isAlive(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch {
    return false;
  }
}

test("a first start of Postgres, also after an interrupted one → a superuser's URL on 127.0.0.1, UTF-8, Postgres 17", async () => {
  await Deno.mkdir(`${dataDir}.new/base`, { recursive: true });
  await Deno.writeTextFile(`${dataDir}.password`, "old");
  const { url, port } = await start();
  expect(new URL(url)).toMatchObject({ hostname: "127.0.0.1", port: String(port), pathname: "/postgres" });
  const [row] = await query(
    url,
    `select current_user, rolsuper, current_setting('server_encoding') as encoding, lower('Ä') as lower,
      current_setting('server_version_num')::int / 10000 as major, current_setting('listen_addresses') as listens
    from pg_roles where rolname = current_user`,
  );
  expect(row).toEqual({
    current_user: "supabase_admin",
    rolsuper: true,
    encoding: "UTF8",
    lower: "ä",
    major: 17,
    listens: "127.0.0.1",
  });
  expect(await checkGivenPostgres(url)).toEqual({ major: 17, isUsed: false });

  // As an address that is given to a stack: a wrong password and an ordinary role are refused.
  const given = new URL(url);
  given.password = "wrong";
  await expect(checkGivenPostgres(given.href)).rejects.toMatchObject({ code: "given_unreachable" });
  await query(url, "create role ordinary login password 'ordinary'");
  given.username = given.password = "ordinary";
  await expect(checkGivenPostgres(given.href)).rejects.toMatchObject({ code: "given_not_superuser" });
});

test("Postgres is stopped → no process left, same data and URL at the next start; kill -9 and a start at once → recovered", async () => {
  const first = await startCopy();
  await query(first.url, "create table kept as select 1 as n; create unlogged table lost as select 1 as n");
  await first.stop();
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);
  const second = await start({ port: first.port });
  expect(second.url).toBe(first.url);
  expect(await query(second.url, "select n from lost")).toEqual([{ n: 1 }]);
  second.kill("SIGKILL");
  const third = await start();
  expect(third.pid).not.toBe(second.pid);
  expect(await query(third.url, "select (select n from kept) as kept, (select n from lost) as lost")).toEqual([
    { kept: 1, lost: null },
  ]);
});

test("the starter is killed → Postgres shuts down by itself, and the next start waits for that", async () => {
  await copyMade();
  const program = `const { startPostgres } = await import("./local/postgres/start-postgres.ts");
    const { pid, url } = await startPostgres({ dataDir: ${JSON.stringify(dataDir)}, durable: false });
    console.log(JSON.stringify({ pid, url }));
    setInterval(() => undefined, 1000);`;
  const args = ["eval", program];
  const starter = new Deno.Command(Deno.execPath(), { args, cwd: PROJECT_ROOT, stdout: "piped" }).spawn();
  const reader = starter.stdout.getReader();
  const { pid, url } = JSON.parse(new TextDecoder().decode((await reader.read()).value));
  await query(url, "create table kept as select 1 as n");
  starter.kill("SIGKILL");
  await starter.status;
  await reader.cancel();
  const next = await start();
  await until("the first has ended", () => !isAlive(pid));
  expect(await query(next.url, "select n from kept")).toEqual([{ n: 1 }]);
});

test("a second start on the same data → data_in_use; a port in use → port_busy; a stale pid file → starts", async () => {
  const { url, port, stop } = await startCopy();
  vi.stubEnv("COLUMNS", "40");
  await expect(startPostgres({ dataDir, patienceMs: 250 })).rejects.toMatchObject({ code: "data_in_use" });
  // A server whose pid file is gone ends within a minute.
  expect(await Deno.readTextFile(join(dataDir, "postmaster.pid"))).toContain(dataDir);
  expect(await query(url, "select 1 as n")).toEqual([{ n: 1 }]);
  await stop();
  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  const busy = { code: "port_busy", message: expect.stringContaining(String(port)) };
  await expect(start({ port })).rejects.toMatchObject(busy);
  listener.close();
  await Deno.writeTextFile(join(dataDir, "postmaster.pid"), `${Deno.pid}\n${dataDir}\n`);
  expect(await query((await start()).url, "select 1 as n")).toEqual([{ n: 1 }]);
});

test.each<[string, string, () => Promise<unknown>, RegExp]>([
  [
    "data of another major version",
    "data_other_version",
    async () => {
      await copyMade();
      await Deno.writeTextFile(join(dataDir, "PG_VERSION"), "16\n");
    },
    /Postgres 16.*--reset/,
  ],
  [
    "damaged data",
    "data_broken",
    async () => {
      await copyMade();
      await Deno.remove(join(dataDir, "global", "pg_control"));
    },
    /^[^\n]*--reset[^\n]*$/,
  ],
])("%s → %s in one line that names --reset, and nothing is removed", async (_what, code, prepare, message) => {
  await prepare();
  const before = [...Deno.readDirSync(dataDir)].map(({ name }) => name);
  await expect(start()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect([...Deno.readDirSync(dataDir)].map(({ name }) => name)).toEqual(expect.arrayContaining(before));
});

test("Postgres in a folder that other users cannot enter → works, and keeps its data", async () => {
  await Deno.chmod(folder, 0o700);
  const first = await start();
  // Root's Postgres runs as another user, who cannot enter it; an ordinary user's own can.
  expect(first.dataDir.startsWith("/var/lib/keyframe/")).toBe(asRoot);
  await query(first.url, "create table kept as select 1 as n");
  await first.stop();
  const second = await start();
  expect(second.dataDir).toBe(first.dataDir);
  expect(await query(second.url, "select n from kept")).toEqual([{ n: 1 }]);
  await second.stop();
  await removePostgresData(dataDir);
  await expect(Deno.stat(first.dataDir)).rejects.toThrow();
});

test("binaries that the server's user cannot reach → a copy that it can reach is used", async () => {
  const root = join(folder, "native");
  await Deno.mkdir(join(root, "bin"), { recursive: true });
  await Deno.writeTextFile(join(root, "bin", "postgres"), "a program", { mode: 0o755 });
  await Deno.chmod(folder, 0o700);
  const binaries = { root, version: "test" };
  const user = await chooseServerUser(dataDir);
  const placed = await placeBinaries(binaries, user, () => undefined);
  expect(placed.root === root).toBe(!asRoot);
  expect(await Deno.readTextFile(programOf(placed, "postgres"))).toBe("a program");
  expect(await placeBinaries(binaries, user, () => undefined)).toEqual(placed);
  await rm(placed.root, { recursive: true });
});
