import type { Step } from "../../shared/contract/fields.ts";
import { shiftTime } from "./database-faults.ts";
import { codeOf, endOfAddress, removePrediction, hasEnded, isUnanswered, pollOnce } from "./users.ts";
import { pause } from "../../shared/platform/pause.ts";
import { retry, type Ledger, type World } from "./world.ts";

const CHECK_EVERY_MS = 1_000;
/** When nothing has changed for this long, the rest waits for leases to expire or for back-offs. */
const UNCHANGED_MS = 6_000;
const MOVE_S = 120;

type OpenWork = {
  predictions: number;
  deliveries: number;
  submits: number;
  removals: number;
  kicks: number;
  workers: number;
};

/**
 * Waits until no work is left, for at most so many seconds. When all that is left waits for leases or back-offs, the
 * times are moved by two minutes (shiftTime). Returns what is left.
 */
export async function waitUntilIdle({ sql }: World, seconds: number, say: (line: string) => void): Promise<OpenWork> {
  const end = performance.now() + seconds * 1000;
  let last = "";
  let changedAt = performance.now();
  for (;;) {
    const work = await retry(() => openWork(sql));
    if (Object.values(work).every((count) => count === 0) || performance.now() > end) return work;
    const now = JSON.stringify(work);
    if (now !== last) {
      last = now;
      changedAt = performance.now();
      say(`still open: ${describe(work)}`);
    } else if (performance.now() - changedAt > UNCHANGED_MS) {
      say(`moved the times by two minutes`);
      await shiftTime(sql, MOVE_S);
      changedAt = performance.now();
    }
    await pause(CHECK_EVERY_MS);
  }
}

export const describe = (work: OpenWork): string =>
  Object.entries(work)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");

async function openWork(sql: World["sql"]): Promise<OpenWork> {
  const [row] = await sql<OpenWork[]>`
    select
      (select count(*)::int from keyframe.predictions where is_active) as predictions,
      (select count(*)::int from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
        where d.status = 'pending' and (e.enabled or exists (
          select from keyframe_private.lanes l where l.id = coalesce(e.owner_id, e.id) and l.token is not null))) as deliveries,
      (select count(*)::int from keyframe_private.provider_submits where ended_at is null) as submits,
      (select count(*)::int from keyframe_private.file_removals)
        + (select count(*) from storage.objects o where o.bucket_id = 'projects'
            and not exists (select from auth.users u where u.id::text = o.owner_id))::int as removals,
      (select count(*)::int from net.http_request_queue) as kicks,
      (select count(*)::int from keyframe_private.worker_heartbeats where alive_until > now()) as workers`;
  if (!row) throw new Error("Postgres returned no counts.");
  return row;
}

const TRIES = 5;

/**
 * Repeats every unanswered start with the same key, as an app does, until it is accepted or refused. Returns how many
 * there were.
 */
export async function settleStarts({ starts }: Ledger): Promise<number> {
  const open = starts.filter(({ outcome }) => outcome === "unanswered");
  for (const start of open) {
    for (let tries = 1; start.outcome === "unanswered"; tries++) {
      try {
        start.outcome = { accepted: (await start.repeat()).predictionId };
      } catch (error) {
        if (!isUnanswered(error)) start.outcome = { refused: codeOf(error) };
        else if (tries === TRIES) throw error;
      }
    }
  }
  return open.length;
}

/** How many ended predictions of each user are polled again. */
const MAX_POLLED_AGAIN = 10;

/**
 * Every user polls what has not ended as far as they know, with the ETag of the last answer, and again with the ETag of
 * that one, so that a short run on a busy machine has answers of 304 too. Returns how many predictions were polled.
 */
export async function pollAtRest(world: World): Promise<number> {
  let polls = 0;
  for (const user of world.users.filter(({ isDeleted }) => !isDeleted)) {
    const ended = [...user.lastAnswers].filter(([, { status }]) => hasEnded(status));
    const open = [...user.lastAnswers].filter(([, { status }]) => !hasEnded(status));
    for (const [predictionId] of [...open, ...ended.slice(-MAX_POLLED_AGAIN)]) {
      polls += 1;
      const ask = () => pollOnce(user, world, predictionId, true);
      await retry(
        () =>
          ask()
            .then(ask)
            .catch((error) => {
              if (codeOf(error) !== "not_found") throw error;
              removePrediction(user, predictionId);
            }),
        10,
      );
    }
  }
  return polls;
}

type Made = { predictionId: string; projectId: string; step: Step };

/**
 * Of the users who have an output, every second reads it and deletes its project, so that each run tests a deletion. Returns
 * how many projects were deleted.
 */
export async function deleteSomeProjects({ sql, ledger, users }: World): Promise<number> {
  let deleted = 0;
  let found = 0;
  for (const { client, userId } of users.filter(({ isDeleted }) => !isDeleted)) {
    const [made] = await retry(
      () => sql<Made[]>`
        select id as "predictionId", project_id as "projectId", step from keyframe.predictions
        where owner_id = ${userId} and status = 'succeeded' order by input #>> '{referenceImagePaths,0}' is null limit 1`,
    );
    if (!made || found++ % 2 === 1) continue;
    const { output } = await retry(() => client.readPrediction(made), 10);
    if (output) ledger.addresses.push({ stated: output.expiresAt, ends: endOfAddress(output.url) });
    ledger.deletedProjects.add(made.projectId);
    await retry(() => client.deleteProject(made.projectId), 10);
    deleted += 1;
  }
  return deleted;
}
