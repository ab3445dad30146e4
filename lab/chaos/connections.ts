import { readdir, readFile, readlink } from "node:fs/promises";
import { waitForPort } from "../../local/network.ts";
import { retry, withTimeout, pause, type World } from "./world.ts";

/** A process that holds connections it no longer needs. */
type LeftConnection = { who: string; what: string };

/**
 * How long a connection may be kept for reuse. Deno's fetch keeps one for 90 s and checks every 90 s; deliver keeps
 * those to receivers for 4 s (create-connections.ts).
 */
const KEEP_ALIVE_MS = 2 * 90_000;
/** Time for requests of a closed pool to end (local/platform/create-lite.ts). */
export const MARGIN_MS = 15_000;
const CHECK_EVERY_MS = 500;

/** The application_name of this run's own connections. */
export const RUNNER = "keyframe-chaos";

/**
 * A scheduler's worker has two: its session, and one that listens for notifications (local/extensions/keep-
 * connected.ts).
 */
const OF_A_WORKER = 2;
/** The gateway has one that listens, in addition to its pool (local/platform/open-pool.ts). */
const LISTENS = 1;
/** The process that starts the stack keeps one (local/stack/start-stack.ts). */
const OF_THE_STACK = { name: "postgres.js", most: 1 };

/** The most connections of an idle stack in Postgres, by application_name. Others may keep none. */
const kept = (pool: number): ReadonlyMap<string, number> =>
  new Map([
    ["keyframe-platform", pool + LISTENS],
    ["pg_net worker", OF_A_WORKER],
    ["pg_cron scheduler", OF_A_WORKER],
    [OF_THE_STACK.name, OF_THE_STACK.most],
  ]);

const POSTGRES_PORT = 5432;
/** The state in /proc. The connections of an ended process are never in it. */
const ESTABLISHED = "01";
/** The process that sends kicks where pg_net is a stand-in. */
const PG_NET = "scheduler";

type Target = Pick<World, "stack" | "sql"> & { receivers?: Pick<World["receivers"], "port"> };

/**
 * Waits until no unneeded connection is left, at most as long as connections are kept for reuse. Returns those that are
 * left. `pool`: how many connections the gateway could use just after the start.
 */
export async function connectionsLeft(
  world: Target,
  pool: number,
  timeoutMs = KEEP_ALIVE_MS + MARGIN_MS,
  where: "anywhere" | "in Postgres" = "anywhere",
): Promise<LeftConnection[]> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const left = [
      ...(await retry(() => inPostgres(world, pool))),
      ...(where === "anywhere" ? await sockets(world) : []),
    ];
    if (left.length === 0) left.push(...(await takenFromPool(world, pool)));
    // Again with the whole pool open: connections of an earlier pool could be counted as part of this one.
    if (left.length === 0) left.push(...(await retry(() => inPostgres(world, pool))));
    if (left.length === 0 || performance.now() > end) return left;
    await pause(CHECK_EVERY_MS);
  }
}

async function inPostgres({ sql }: Target, pool: number): Promise<LeftConnection[]> {
  const rows = await sql<{ name: string; users: string; states: string; connections: number; busy: number }[]>`
    select application_name as name, string_agg(distinct usename, ', ') as users, string_agg(distinct state, ', ') as states,
      count(*)::int as connections, count(*) filter (where state <> 'idle')::int as busy
    from pg_stat_activity
    where backend_type = 'client backend' and datname = current_database() and application_name <> ${RUNNER}
    group by application_name`;
  return rows.flatMap(({ name, users, states, connections, busy }) => {
    const most = kept(pool).get(name) ?? 0;
    if (connections <= most && busy === 0) return [];
    return [
      {
        who: name,
        what: `${connections} connections to Postgres (${users}; ${states}), kept may be ${most}, all idle`,
      },
    ];
  });
}

/**
 * An idle stack's processes may hold connections only to Postgres. pg_net also keeps the connections on which it sent
 * kicks to the gateway.
 */
async function sockets({ stack, receivers }: Target): Promise<LeftConnection[]> {
  const names = new Map([[Number(new URL(stack.databaseUrl).port || POSTGRES_PORT), "Postgres"]]);
  if (receivers) names.set(receivers.port, "the receivers");
  const held: ({ who: string } & OpenSocket)[] = [];
  for (const [who, child] of stack.children) {
    const { open = [], listens = [] } = (child.pid === undefined ? null : await socketsOf(child.pid)) ?? {};
    for (const port of listens) names.set(port, who);
    held.push(...open.map((socket) => ({ who, ...socket })));
  }
  const portsOf = (sockets: OpenSocket[]) => new Set(sockets.map(({ localPort }) => localPort));
  const standIns = portsOf(held.filter(({ who }) => who === PG_NET));
  // The real pg_net's worker is a process of Postgres, so its calls to the gateway are those that no process here
  // makes.
  const ours = portsOf([...held, ...((await socketsOf(Deno.pid))?.open ?? [])]);
  const isPgNet = (port: number) => (stack.extensions.pg_net === "real" ? !ours.has(port) : standIns.has(port));
  const counts = new Map<string, LeftConnection & { count: number }>();
  for (const { who, peerPort, localPort, state } of held) {
    const toPostgres = names.get(peerPort) === "Postgres";
    const kick =
      state === ESTABLISHED &&
      ((who === PG_NET && names.get(peerPort) === "gateway") ||
        (who === "gateway" && names.get(localPort) === who && isPgNet(peerPort)));
    if (kick || (toPostgres && (who === "gateway" || who === PG_NET))) continue;
    const what = names.get(localPort) === who ? "from its callers" : `to ${names.get(peerPort) ?? `port ${peerPort}`}`;
    const found = counts.get(`${who} ${what} ${state}`) ?? { who, what: `${what} (state ${state})`, count: 0 };
    found.count += 1;
    counts.set(`${who} ${what} ${state}`, found);
  }
  return [...counts.values()].map(({ who, what, count }) => ({ who, what: `${count} connections ${what}` }));
}

async function takenFromPool(world: Target, pool: number): Promise<LeftConnection[]> {
  const usable = await retry(() => usableConnections(world));
  if (usable >= pool) return [];
  return [{ who: "keyframe-platform", what: `${usable} connections can be used, ${pool} could at the start` }];
}

/** A TCP socket that does not listen. `state` as in /proc: 01 established, 08 closed by the other side alone. */
type OpenSocket = { localPort: number; peerPort: number; state: string };

const LISTEN_STATE = "0A";

/**
 * The TCP connections of a process and the ports it listens on, from /proc: Linux only. Null elsewhere and for an
 * ended process.
 */
export async function socketsOf(pid: number): Promise<{ open: OpenSocket[]; listens: number[] } | null> {
  try {
    const inodes = await inodesOf(pid);
    const open: OpenSocket[] = [];
    const listens: number[] = [];
    for (const table of ["tcp", "tcp6"]) {
      for (const line of (await readFile(`/proc/${pid}/net/${table}`, "utf8")).split("\n").slice(1)) {
        // sl, local address, peer's address, state, and in the tenth column the inode.
        const [, local = "", peer = "", state = "", , , , , , inode = ""] = line.trim().split(/\s+/);
        if (!inodes.has(inode)) continue;
        if (state === LISTEN_STATE) listens.push(portOf(local));
        else open.push({ localPort: portOf(local), peerPort: portOf(peer), state });
      }
    }
    return { open, listens };
  } catch {
    return null;
  }
}

async function inodesOf(pid: number): Promise<ReadonlySet<string>> {
  const folder = `/proc/${pid}/fd`;
  const links = (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")); // closed since
  return new Set((await Promise.all(links)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}

const portOf = (address: string): number => Number.parseInt(address.split(":")[1] ?? "", 16);

const MORE_THAN_ANY_POOL = 100;
/** When the count has not grown for this long, it is final. An idle pool has to connect first. */
const UNCHANGED_MS = 2_000;
const COUNT_EVERY_MS = 50;
const POOL_TIMEOUT_MS = 15_000;
/** The lock is released after this time at the latest. */
const LOCKED_MS = 12_000;
/** The Data API reads it, and nothing else does while the stack is idle. */
const TABLE = "models";

/**
 * How many connections the gateway can use at once: a table is locked, requested by more requests than any pool has
 * connections, and the requests that wait in Postgres are counted. A connection that was taken and never returned is
 * missing from this count, although Postgres shows it as idle.
 */
export async function usableConnections({ stack, sql }: Pick<World, "stack" | "sql">): Promise<number> {
  const { secretKey } = stack.keys;
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 }); // these requests keep no connection
  const ask = () => {
    const init: RequestInit & { client: Deno.HttpClient } = {
      headers: { apikey: secretKey, authorization: `Bearer ${secretKey}`, "accept-profile": "keyframe" },
      signal: AbortSignal.timeout(POOL_TIMEOUT_MS),
      client,
    };
    return fetch(`${stack.url}/rest/v1/${TABLE}?select=step&limit=1`, init).then(
      (response) => response.body?.cancel(),
      () => undefined, // no connection in time
    );
  };
  await ask(); // the first request reads the schema and would wait for the lock
  const asked: Promise<unknown>[] = [];
  const most = await withTimeout(
    sql.begin(async (mine) => {
      await mine`select set_config('lock_timeout', '3s', true)`;
      await mine`lock table ${mine(`keyframe.${TABLE}`)} in access exclusive mode`;
      asked.push(...Array.from({ length: MORE_THAN_ANY_POOL }, ask));
      let most = 0;
      const end = performance.now() + LOCKED_MS;
      let stillSince = performance.now();
      while (performance.now() < end && (most === 0 || performance.now() - stillSince < UNCHANGED_MS)) {
        const [row] = await mine<{ waiting: number }[]>`
          select count(distinct pid)::int as waiting from pg_locks
          where not granted and relation = ${`keyframe.${TABLE}`}::regclass`;
        if ((row?.waiting ?? 0) > most) {
          most = row?.waiting ?? 0;
          stillSince = performance.now();
        }
        await pause(COUNT_EVERY_MS);
      }
      return most;
    }),
    POOL_TIMEOUT_MS,
  );
  await Promise.all(asked);
  return most;
}

const RESTART_TIMEOUT_MS = 30_000;

/**
 * Restarts gateway and simulator, which ends connections that are kept for reuse; waiting for that takes three
 * minutes. A connection with an unread answer stays. The simulator loses its runs, so they must have been read.
 */
export async function closeKeptConnections({ stack }: Pick<World, "stack">): Promise<void> {
  for (const name of ["gateway", "simulator"]) {
    const child = stack.children.get(name);
    const former = child?.pid;
    child?.kill("SIGTERM");
    await retry(async () => {
      const { pid } = stack.children.get(name) ?? {};
      if (pid === undefined || pid === former) throw new Error(`${name} has not restarted.`);
    });
  }
  const ports = [stack.url, stack.simulator?.url ?? stack.url].map((url) => Number(new URL(url).port));
  for (const port of ports) await waitForPort(port, AbortSignal.timeout(RESTART_TIMEOUT_MS));
}
