import { type OpenSocket, socketsOf } from "./open-sockets.ts";
import { usableConnections } from "./gateway-pool.ts";
import { insist, pause, type World } from "./world.ts";

/** Who holds something that nobody needs any more, and what. */
export type Left = { who: string; what: string };

/**
 * How long a connection may be kept for the next request. Deno's fetch keeps one for 90 s, and looks every 90 s for those that
 * have been kept too long; deliver's own to receivers are kept for 4 s (create-connections.ts).
 */
export const KEEP_ALIVE_MS = 2 * 90_000;
/** What requests of a pool that was given up may still take (local/platform/create-lite.ts), and more. */
export const MARGIN_MS = 15_000;
const LOOK_EVERY_MS = 500;

/** The runner's own connections to Postgres say so. */
export const RUNNER = "keyframe-chaos";

/** A worker of the scheduler has two: its session, and one that listens for notifications (local/extensions/keep-connected.ts). */
const OF_A_WORKER = 2;
/** The gateway has one that listens beside its pool (local/platform/open-pool.ts). */
const LISTENS = 1;
/** Whoever started the stack keeps one (local/stack/start-stack.ts). */
const OF_THE_STACK = { name: "postgres.js", most: 1 };

/** What a stack that has nothing to do keeps in Postgres, by application_name; whatever is not here keeps nothing. */
const kept = (pool: number): ReadonlyMap<string, number> =>
  new Map([
    ["keyframe-platform", pool + LISTENS],
    ["pg_net worker", OF_A_WORKER],
    ["pg_cron scheduler", OF_A_WORKER],
    [OF_THE_STACK.name, OF_THE_STACK.most],
  ]);

const POSTGRES_PORT = 5432;
/** As /proc has it. One of a process that is gone is never in it. */
const ESTABLISHED = "01";
/** The stack's process that sends kicks where pg_net is a stand-in. */
const PG_NET = "scheduler";

type Place = Pick<World, "stack" | "sql"> & { receivers?: Pick<World["receivers"], "port"> };

/**
 * Waits until nobody holds a connection that nobody needs, at most as long as connections are kept for reuse, and returns what is
 * held then. `pool`: how many connections the gateway could use when the stack had just started.
 */
export async function connectionsLeft(
  world: Place,
  pool: number,
  patienceMs = KEEP_ALIVE_MS + MARGIN_MS,
  where: "anywhere" | "in Postgres" = "anywhere",
): Promise<Left[]> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const left = [
      ...(await insist(() => inPostgres(world, pool))),
      ...(where === "anywhere" ? await sockets(world) : []),
    ];
    if (left.length === 0) left.push(...(await takenFromPool(world, pool)));
    // Once more with the whole pool open: what an earlier pool left behind could pass for a part of this one.
    if (left.length === 0) left.push(...(await insist(() => inPostgres(world, pool))));
    if (left.length === 0 || performance.now() > end) return left;
    await pause(LOOK_EVERY_MS);
  }
}

async function inPostgres({ sql }: Place, pool: number): Promise<Left[]> {
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
 * Processes of the stack talk to Postgres as said above, and when there is nothing to do to nobody else. But pg_net keeps what it
 * has sent kicks on: to the gateway, which is where kicks go.
 */
async function sockets({ stack, receivers }: Place): Promise<Left[]> {
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
  // The worker of the real pg_net is a process of Postgres: its are the calls that nobody else makes.
  const ours = portsOf([...held, ...((await socketsOf(Deno.pid))?.open ?? [])]);
  const isPgNet = (port: number) => (stack.extensions.pg_net === "real" ? !ours.has(port) : standIns.has(port));
  const counts = new Map<string, Left & { count: number }>();
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

async function takenFromPool(world: Place, pool: number): Promise<Left[]> {
  const usable = await insist(() => usableConnections(world));
  if (usable >= pool) return [];
  return [{ who: "keyframe-platform", what: `${usable} connections can be used, ${pool} could at the start` }];
}
