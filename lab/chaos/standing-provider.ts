import { pause } from "../../shared/platform/retry.ts";
import { shiftTime } from "./database-faults.ts";
import { costInvariants } from "./invariants/costs.ts";
import { runsAtProvider, writeTables } from "./invariants/ledger-tables.ts";
import type { Scenario } from "./scenario.ts";
import { addOwners, createProjects, list, OTHER_MODEL, startFrames } from "./scenario-actions.ts";
import type { World } from "./world.ts";

const OWNERS = 36;
const FRAMES = { model: OTHER_MODEL };
/** Shorter than a create may take (20 s): none has to fail. */
const STANDS_MS = 6_000;
const JUMP_S = 600;
/** After so long without an end, what is left waits for a lease or a back-off. */
const MOVE_EVERY_MS = 8_000;
const MOVE_S = 120;
/** The time by which everything must have ended. */
const END_MS = 150_000;

export const STANDING_PROVIDER: Record<string, Scenario> = {
  standing_provider: {
    sentence: `Stop the provider for 6 s while ${OWNERS} frames are submitted. Stop it again, set the database's clock 10 minutes ahead, and lose every answer and callback`,
    startsFrames: true,
    lastsMs: 30_000,
    laterMs: 2 * STANDS_MS, // those of others wait for the same provider, then beside all that waited
    open: async (world) => async () => {
      const projects = await createProjects(world, await addOwners(world, OWNERS, 0, "well"), 1);
      const left = [await waitForEnd(world, await startFrames(world, projects, FRAMES))]; // and connections to the provider stay open
      const first = await whileStanding(world, () => startFrames(world, projects, FRAMES));
      left.push(await waitForEnd(world, first));
      const again = await world.sql`
        select from keyframe_private.provider_submits where prediction_id = any (${list(first)}::text::uuid[]) and attempt > 1`;
      const unanswered = await whileStanding(world, async () => {
        const faults = "[[fault:lost_answer]][[fault:callback_lost]]";
        const ids = await startFrames(world, projects, { ...FRAMES, faults });
        await pause(STANDS_MS / 3); // all are being submitted
        await shiftTime(world.sql, JUMP_S);
        return ids;
      });
      left.push(await waitForEnd(world, unanswered));
      const failed = again.count === 0 ? [] : [`${again.count} of ${OWNERS} creates failed`];
      return [...left.flat(), ...failed, ...(await uncountedRuns(world))];
    },
  },
};

/** The work begins while the provider reads nothing, and takes less than that. */
async function whileStanding<Result>({ stack }: World, work: () => Promise<Result>): Promise<Result> {
  const provider = stack.children.get("simulator");
  provider?.kill("SIGSTOP");
  try {
    const [result] = await Promise.all([work(), pause(STANDS_MS)]);
    return result;
  } finally {
    provider?.kill("SIGCONT");
  }
}

/** Waits until these and their costs have ended, and returns those that have not. Moves the database's clock past leases and back-offs. */
async function waitForEnd({ sql }: World, ids: string[]): Promise<string[]> {
  const end = performance.now() + END_MS;
  for (let moveAt = performance.now() + MOVE_EVERY_MS; ; ) {
    const open = await sql<{ broken: string }[]>`
      select format('prediction %s is %s, or its cost is held', id, status) as broken from keyframe.predictions p
      where id = any (${list(ids)}::text::uuid[])
        and (completed_at is null or exists (
          select from keyframe_private.provider_submits s where s.prediction_id = p.id and s.cost_state = 'held'))`;
    if (open.count === 0 || performance.now() > end) return open.map(({ broken }) => broken);
    await pause(200);
    if (performance.now() < moveAt) continue;
    await shiftTime(sql, MOVE_S);
    moveAt = performance.now() + MOVE_EVERY_MS;
  }
}

/** What was billed for runs that neither a row nor a sum has. */
async function uncountedRuns({ sql, stack }: World): Promise<string[]> {
  await sql`create schema chaos`;
  try {
    await writeTables(sql, { runs: await runsAtProvider(stack.simulator?.url ?? "") });
    const rows = await sql.unsafe<{ broken: string }[]>(costInvariants.unproven_runs_are_counted.broken);
    return rows.map(({ broken }) => broken);
  } finally {
    await sql`drop schema chaos cascade`;
  }
}
