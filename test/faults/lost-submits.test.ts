import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { promptWith } from "../support/film/film-maker.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// Pairs of users ask for the same, and for both of them the answer to the submit is lost. The provider cannot reach the stack, so that
// runs are polled and pictures are copied to it. Half of the pairs have pictures, each user another. In half of those, and of the
// others, one of the two cancels before the search.
const PAIRS = 16;
const RUN_MS = 60_000;
/** Longer than a lease of generate's: on a busy machine a call can end without having recorded all that it took. */
const TIMEOUT_MS = 120_000;
const PNG = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
);

type Side = { id: string; prompt: string; picture: string | null; cancels: boolean };
/** A run at the provider, and whose it is: null where its request named nobody. */
type Run = { id: string; madeFor: string | null; prompt: string; answerLost: boolean; cancelAsked: boolean };

let simulator: RunningSimulator;
let stack: OwnStack;
let sides: Side[];
let runs: Run[];
let known: Map<string, string>;
beforeAll(async () => {
  simulator = await startSimulator({ runDelayMs: RUN_MS, imageWidth: 64 });
  const { url, apiUrl, token } = simulator;
  const variables = { KEYFRAME_REPLICATE_API_BASE_URL: apiUrl, KEYFRAME_REPLICATE_OUTPUT_HOSTS: url };
  stack = await startOwnStack({ provider: { KEYFRAME_REPLICATE_API_TOKEN: token, ...variables } });
  // The next try comes when the test says so: once all answers are lost.
  await stack.sql`update keyframe_private.settings set retry_base = '5 minutes', retry_max = '5 minutes' where only_row`;
  sides = await loseAnswers(stack, simulator);
  await searchAtOnce(stack, sides);
  await letRunsEnd(stack, simulator);
  runs = await runsOf(simulator, sides);
  const rows = await stack.sql<{ run: string; prediction: string }[]>`
    select provider_prediction_id as run, prediction_id as prediction from keyframe_private.provider_submits where provider_prediction_id is not null`;
  known = new Map(rows.map(({ run, prediction }) => [run, prediction]));
}, 4 * TIMEOUT_MS);
afterAll(async () => {
  await stack?.stop();
  await simulator?.stop();
});

test("every prediction ends as its own user wants: cancelled, or with a file", async () => {
  const rows = await stack.sql<{ id: string; status: string }[]>`select id, status from keyframe.predictions`;
  const wanted = sides.map(({ id, cancels }) => ({ id, status: cancels ? "canceled" : "succeeded" }));
  expect(new Set(rows)).toEqual(new Set(wanted));
});

test("with pictures → each finds the one run that was made for it, and nothing is paid twice", () => {
  const withPicture = sides.filter(({ picture }) => picture !== null);
  expect(withPicture).toHaveLength(PAIRS);
  for (const { id, cancels } of withPicture) {
    const own = runs.filter(({ madeFor }) => madeFor === id);
    expect(own).toMatchObject([{ answerLost: true, cancelAsked: cancels }]);
    expect(known.get(own[0]?.id ?? "")).toBe(id);
  }
});

test("without pictures → no lost run is taken or cancelled; who goes on pays for a second one", () => {
  const prompts = new Set(sides.flatMap(({ picture, prompt }) => (picture === null ? [prompt] : [])));
  const ofText = runs.filter(({ prompt }) => prompts.has(prompt));
  const lost = ofText.filter(({ answerLost }) => answerLost);
  expect(lost).toHaveLength(PAIRS);
  expect(lost.filter(({ id }) => known.has(id))).toEqual([]);
  expect(ofText.filter(({ cancelAsked }) => cancelAsked)).toEqual([]);
  const going = sides.filter(({ picture, cancels }) => picture === null && !cancels);
  expect(ofText.length - lost.length).toBe(going.length);
});

async function loseAnswers(stack: OwnStack, { control }: RunningSimulator): Promise<Side[]> {
  const { sql } = stack;
  control.arm({ fault: "lost_answer", times: 1_000_000 });
  const wanted = Array.from({ length: PAIRS }, (_, number) => {
    const prompt = promptWith();
    return [0, 1].map((member) => {
      const picture = number % 2 === 0 ? `${crypto.randomUUID()}.png` : null;
      return { owner: crypto.randomUUID(), prompt, picture, cancels: number % 4 < 2 && member === 0 };
    });
  }).flat();
  const users = wanted.map(({ owner }) => ({ id: owner, email: `${owner}@keyframe.local` }));
  await sql`insert into auth.users ${sql(users)}`;
  const films = wanted.map(({ owner }) => ({ owner_id: owner, title: "Harbour", text_prompt: "A harbour" }));
  await sql`insert into keyframe.projects ${sql(films)}`;
  await Promise.all(
    wanted.map(async ({ owner, picture }) => {
      if (picture === null) return;
      await upload(stack, picture);
      await sql`update storage.objects set owner_id = ${owner} where bucket_id = 'projects' and name = ${picture}`;
    }),
  );
  await sql`
    insert into keyframe.predictions (project_id, step, input)
    select p.id, 'first-frame', jsonb_build_object('prompt', r.prompt, 'referenceImagePath', 'projects/' || r.picture)
    from jsonb_to_recordset(${JSON.stringify(wanted)}::text::jsonb) r (owner uuid, prompt text, picture text)
    join keyframe.projects p on p.owner_id = r.owner`;
  await untilNone(stack, "the answer to each submit is lost", sql`retry_reason is null or lease_token is not null`);
  control.clear();
  const made = await sql<{ id: string; owner: string }[]>`select id, owner_id as owner from keyframe.predictions`;
  const idOf = new Map(made.map(({ id, owner }) => [owner, id]));
  return wanted.map(({ owner, prompt, picture, cancels }) => ({ id: idOf.get(owner) ?? "", prompt, picture, cancels }));
}

async function upload({ url, secretKey }: OwnStack, picture: string): Promise<void> {
  const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}`, "content-type": "image/png" };
  const request = { method: "POST", headers, body: PNG };
  const response = await fetch(`${url}/storage/v1/object/projects/${picture}`, request);
  if (!response.ok) throw new Error(`Storage answered ${response.status}: ${await response.text()}`);
  await response.body?.cancel();
}

/** Has all of them looked for in the provider's list at the same time, those that were cancelled as well as the others. */
async function searchAtOnce(stack: OwnStack, sides: Side[]): Promise<void> {
  const { sql } = stack;
  const canceled = sides.flatMap(({ id, cancels }) => (cancels ? [id] : []));
  await sql`select keyframe_private.mark_canceled(id) from unnest(${canceled}::uuid[]) id`;
  await sql`update keyframe.predictions set next_attempt_at = now()`;
  await sql`update keyframe_private.provider_submits set search_due_at = now() where search_due_at is not null`;
  await untilNone(
    stack,
    "each has a run, or has been looked for",
    sql`id in (select s.prediction_id from keyframe_private.provider_submits s where s.is_unanswered)`,
  );
}

async function letRunsEnd({ sql }: OwnStack, { control }: RunningSimulator): Promise<void> {
  await until(
    "all have ended",
    async () => {
      // Each run waits several times, one after the other.
      if (control.state().predictions.processing > 0) control.advance(RUN_MS / 7 / 1000);
      const going = await sql`
      select from keyframe.predictions where is_active
      union all select from keyframe_private.provider_submits where cancel_due_at is not null`;
      return going.count === 0;
    },
    TIMEOUT_MS,
  );
}

async function untilNone({ sql }: OwnStack, what: string, condition: ReturnType<OwnStack["sql"]>): Promise<void> {
  let left: object[] = [];
  const isNone = async () => {
    left = await sql`
      select status, retry_reason, lease_token is not null as leased, attempt, next_attempt_at - now() as next
      from keyframe.predictions where ${condition}`;
    return left.length === 0;
  };
  await until(what, isNone, TIMEOUT_MS).catch((error) => {
    throw new Error(`${error.message}; left: ${JSON.stringify(left)}`);
  });
}

async function runsOf({ apiUrl, token, control }: RunningSimulator, sides: Side[]): Promise<Run[]> {
  const nameOf = async (file: string) => {
    expect(file).toContain(`${apiUrl}/files/`);
    const response = await fetch(file, { headers: { authorization: `Bearer ${token}` } });
    return String((await response.json()).name);
  };
  return await Promise.all(
    control.made().map(async ({ id, input, answer_lost: answerLost, cancel_asked: cancelAsked }) => {
      const [file] = (input.image_input ?? []) as string[];
      const name = file === undefined ? null : await nameOf(file);
      const madeFor = sides.find(({ picture }) => picture !== null && picture === name)?.id ?? null;
      return { id, madeFor, prompt: String(input.prompt), answerLost, cancelAsked };
    }),
  );
}
