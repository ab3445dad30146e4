import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { health } from "../../shared/contract/service.ts";
import { requestInit } from "../support/api/call.ts";
import { dataOf, readReply } from "../support/api/envelope.ts";
import { answers, hangs } from "../support/receiver/habits.ts";
import { type FlowReceiver, type Habit, startFlowReceiver } from "../support/receiver/receiver.ts";
import { insertProjects } from "../support/receiver/register.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// The causes are real. Which figures make which sentence: test/unit/api/health-problems.test.ts.

const NAMED_WITHIN_MS = 30_000;
/** A worker's last word counts for a minute. */
const OVER_WITHIN_MS = 70_000;
const ASK_EVERY_MS = 250;

let stack: OwnStack;
const receivers: FlowReceiver[] = [];
beforeAll(async () => {
  stack = await startOwnStack();
});
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  await stack.stop();
});

async function receive(habit: Habit): Promise<FlowReceiver> {
  const receiver = await startFlowReceiver(habit);
  receivers.push(receiver);
  return receiver;
}

const askHealth = () =>
  fetch(`${stack.url}/functions/v1/api/health?deep=1`, requestInit({ token: stack.running.keys.secretKey }));

/** Null: it did not answer, as a call that gets a connection whose session has just ended. */
async function readProblems(): Promise<string[] | null> {
  const response = await askHealth();
  if (response.status === 503) return null;
  const { status, problems = [] } = health.parse(dataOf(await readReply(response), 200));
  expect(status).toBe(problems.length === 0 ? "ok" : "degraded");
  return problems;
}

/** Health names the cause and what to do, and no longer once `end` has ended it. */
async function expectNamed(sentence: RegExp, end: () => Promise<unknown>): Promise<void> {
  const isNamed = async () => (await readProblems())?.some((problem) => sentence.test(problem));
  await until(`health says ${sentence}`, isNamed, NAMED_WITHIN_MS, ASK_EVERY_MS);
  await end();
  await until(
    `health no longer says ${sentence}`,
    async () => (await isNamed()) === false,
    OVER_WITHIN_MS,
    ASK_EVERY_MS,
  );
}

/** An owner's endpoints at a receiver, by SQL, because signing up takes longer. */
async function addOwners(url: string, owners: number): Promise<string[]> {
  const rows = await stack.sql<{ owner_id: string }[]>`
    with owners as (
      insert into auth.users (id, email)
      select gen_random_uuid(), gen_random_uuid() || '@keyframe.local' from generate_series(1, ${owners}::int) returning id)
    insert into keyframe.webhook_endpoints (owner_id, url) select id, ${url} from owners returning owner_id`;
  return rows.map(({ owner_id }) => owner_id);
}

describe.concurrent("deep health", () => {
  test("slow receivers → deep health names them within 30 s, and no longer once they answer", async () => {
    const slow = await receive(hangs);
    for (const owner of await addOwners(slow.url, 15)) await insertProjects(stack.sql, owner, 1);
    await expectNamed(/^\d+ deliveries have been leased for over 3 s: .* Disable an endpoint/, async () => {
      slow.behave(answers(200));
      await slow.close();
      await slow.open();
    });
  });

  test("database calls that take 1.5 s → deep health names them within 30 s, and no longer once they are fast", async () => {
    const well = await receive(answers(200));
    const [owner = ""] = await addOwners(well.url, 1);
    // Each claim updates this row. The trigger stays: to drop it would wait for the transactions that are open here.
    const take = (seconds: number) =>
      stack.sql.unsafe(`
        create or replace function public.take_time() returns trigger language plpgsql as
          'begin perform pg_sleep(${seconds}); return new; end'`);
    await take(1.5);
    await stack.sql`
      create trigger take_time before update on keyframe_private.heartbeats
      for each row when (new.function_name = 'deliver') execute function public.take_time()`;
    await insertProjects(stack.sql, owner, 1);
    await expectNamed(/^The database calls of deliver take 1\.\d s.* Check the load of Postgres/, async () => {
      await take(0);
      await insertProjects(stack.sql, owner, 1);
    });
  });
});
