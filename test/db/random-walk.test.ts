import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { LONGER } from "../support/longer.ts";
import { until } from "../support/until.ts";
import { ACTIONS, type Action, HOLDS } from "../support/walk/actions.ts";
import { checkEnd, checkMoment, settle } from "../support/walk/check.ts";
import { openWalk, type Walk } from "../support/walk/walk.ts";

// Users, workers, the provider, receivers and administrators do anything at any time, several at once and while somebody holds a lock.
// A failure prints the shortest walk it could find and a seed: KEYFRAME_WALK_SEED=<seed> walks the same ways again.

const WALKS = 10 * LONGER;
const TURNS = 30;
/** The same walks each time, so that a red run is about the change; longer runs walk new ways. */
const usual = LONGER > 1 ? crypto.getRandomValues(new Int32Array(1))[0] : 20261129;
const seed = Number(Deno.env.get("KEYFRAME_WALK_SEED") ?? usual);

/** How often something is chosen; otherwise once. */
const WEIGHTS: Partial<Record<Action["what"], number>> = {
  ...{ startTakes: 8, startFilm: 2, quote: 2, startQuote: 3, again: 2, cancel: 2, claim: 4, work: 8, workAll: 8 },
  ...{ deleteProject: 2, advance: 6, callBack: 5, deliver: 2, recordDeliveries: 2, wait: 4, sweep: 2 },
};
/** `crowd`: how often the first action is done at once. */
type Turn = { held: { which: number; user: number } | null; crowd: number; actions: Action[] };
const what = fc.oneof(
  ...(Object.keys(ACTIONS) as Action["what"][]).map((name) => ({
    arbitrary: fc.constant(name),
    weight: WEIGHTS[name] ?? 1,
  })),
);
const action: fc.Arbitrary<Action> = fc.record({ what, a: fc.nat(59), b: fc.nat(59), c: fc.nat(59) });
const held = fc.option(fc.record({ which: fc.nat(HOLDS.length - 1), user: fc.nat(2) }), { freq: 5 });
const crowd = fc.oneof(
  { arbitrary: fc.constant(1), weight: 3 },
  { arbitrary: fc.integer({ min: 2, max: 6 }), weight: 1 },
);
const turn: fc.Arbitrary<Turn> = fc.record({ held, crowd, actions: fc.array(action, { minLength: 1, maxLength: 4 }) });
const turns = fc.noBias(fc.array(turn, { minLength: 1, maxLength: TURNS, size: "max" })); // otherwise most walks are short

const db = useDatabase();
/** The tables that have rows in a new database keep them. */
let emptied: string;
beforeAll(async () => {
  const tables = await db.sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('keyframe', 'keyframe_private') or schemaname || '.' || tablename in ('auth.users', 'storage.objects')`;
  const counted = await Promise.all(
    tables.map(async ({ name }) => ((await db.sql.unsafe(`select from ${name} limit 1`)).count > 0 ? [] : [name])),
  );
  emptied = counted
    .flat()
    .map((name) => `delete from ${name};`)
    .join("\n");
});
const empty = () =>
  db.sql.unsafe(`
    set local session_replication_role = replica;
    ${emptied}
    delete from keyframe_private.model_prices where source like 'chaos %';
    delete from keyframe_private.model_markups where true;
    drop schema if exists chaos cascade;`);

/**
 * Does all of a turn at once. What is held meanwhile is let go when somebody waits for it, or all is done. Then time passes: that locks all
 * tables, as nothing of ours does.
 */
async function take(walk: Walk, { held, crowd, actions }: Turn): Promise<void> {
  const all = [
    ...Array<Action[]>(crowd - 1)
      .fill(actions.slice(0, 1))
      .flat(),
    ...actions,
  ];
  await act(
    walk,
    held,
    all.filter(({ what }) => what !== "wait"),
  );
  for (const one of actions) if (one.what === "wait") await ACTIONS.wait(walk);
}

async function act(walk: Walk, held: Turn["held"], actions: Action[]): Promise<void> {
  const doAll = () => Promise.all(actions.map((one) => ACTIONS[one.what](walk, one)));
  if (held === null) return void (await doAll());
  let isDone = false;
  const { done } = await db.sql.begin(async (open) => {
    await HOLDS[held.which]?.(open, walk.users[held.user]?.id ?? "");
    const done = doAll().finally(() => {
      isDone = true;
    });
    done.catch(() => undefined); // it is awaited below
    await until("the others to wait or to end", async () => {
      const waiting = await db.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return isDone || waiting.length > 0;
    }, 60_000, 5); // biome-ignore format: one line
    return { done };
  });
  await done;
}

test(
  "a random walk of all kinds of actors at once → every invariant holds after each turn, and those of chaos at the end",
  async () => {
    let walks = 0;
    const property = fc.asyncProperty(turns, async (turns) => {
      const walk = await openWalk(db);
      for (const turn of turns) {
        await take(walk, turn);
        await checkMoment(walk);
      }
      await settle(walk);
      await checkEnd(walk);
      walks += 1;
    });
    // On a busy machine the walks are fewer, and so are the tries to shorten one that fails.
    const limits = { numRuns: WALKS, interruptAfterTimeLimit: 60_000 * LONGER };
    await fc.assert(property.afterEach(empty), { seed, ...limits });
    expect(walks).toBeGreaterThan(WALKS / 5);
  },
  120_000 * Math.max(1, LONGER),
);
