import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { health } from "../../shared/contract/service.ts";
import { requestInit } from "../support/api/call.ts";
import { dataOf, readReply } from "../support/api/envelope.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { answers, hangs } from "../support/receiver/habits.ts";
import { type FlowReceiver, type Habit, startFlowReceiver } from "../support/receiver/receiver.ts";
import { insertProjects, register } from "../support/receiver/register.ts";
import { letRetriesComeDue } from "../support/receiver/story.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// The causes are real. Which figures make which sentence: test/unit/api-health-problems.test.ts.

const NAMED_WITHIN_MS = 30_000;
/** A worker's last word counts for a minute. */
const OVER_WITHIN_MS = 70_000;
const ASK_EVERY_MS = 250;
const LIMIT_MS = 120_000;

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

async function readHealth(): Promise<string[]> {
  const asked = requestInit({ token: stack.running.keys.secretKey });
  const reply = await readReply(await fetch(`${stack.url}/functions/v1/api/health?deep=1`, asked));
  const { status, problems = [] } = health.parse(dataOf(reply, 200));
  expect(status).toBe(problems.length === 0 ? "ok" : "degraded");
  return problems;
}

/** Health names the cause and what to do, and no longer once `end` has ended it. */
async function expectNamed(sentence: RegExp, end: () => Promise<unknown>): Promise<void> {
  const isNamed = async () => (await readHealth()).some((problem) => sentence.test(problem));
  await until(`health says ${sentence}`, isNamed, NAMED_WITHIN_MS, ASK_EVERY_MS);
  await end();
  await until(`health no longer says ${sentence}`, async () => !(await isNamed()), OVER_WITHIN_MS, ASK_EVERY_MS);
}

/** Keeps a transaction with a statement open. Returns what takes it back. */
async function keepOpen(statement: (sql: OwnStack["sql"]) => Promise<unknown>): Promise<() => Promise<void>> {
  const connection = await stack.sql.reserve();
  await connection`begin`;
  await statement(connection);
  return async () => {
    await connection`rollback`;
    connection.release();
  };
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

describe.concurrent("health is degraded within 30 s, names the cause and what to do, and ends with it:", () => {
  test("slow receivers", { timeout: LIMIT_MS }, async () => {
    const slow = await receive(hangs);
    for (const owner of await addOwners(slow.url, 15)) await insertProjects(stack.sql, owner, 1);
    await expectNamed(/^\d+ of 400 requests of deliver have been open .* disable such an endpoint/, async () => {
      slow.behave(answers(200));
      await slow.close();
      await slow.open();
    });
  });

  test("an open transaction that has kicked, and then one that holds an endpoint", { timeout: LIMIT_MS }, async () => {
    const well = await receive(answers(200));
    const [owner = "", other = ""] = await addOwners(well.url, 2);
    const endKicked = await keepOpen((sql) => insertProjects(sql, owner, 1));
    const endHeld = await keepOpen(
      (sql) => sql`update keyframe.webhook_endpoints set description = 'held' where owner_id = ${other}`,
    );
    await insertProjects(stack.sql, other, 1);
    await expectNamed(/^A transaction of .* holds rows of .*keyframe\.projects.*pg_terminate_backend/, endKicked);
    await expectNamed(/^A transaction of .* holds rows of keyframe\.webhook_endpoints.*pg_terminate_backend/, endHeld);
  });

  test("a secret that cannot be decrypted", { timeout: LIMIT_MS }, async () => {
    const [maker, well] = await Promise.all([newFilmMaker(stack), receive(answers(200))]);
    const { webhookId } = await register(maker, well.url);
    await stack.sql`
      update vault.secrets set secret = 'AAAA'
      where id in (select vault_secret_id from keyframe_private.webhook_secrets where endpoint_id = ${webhookId})`;
    await insertProjects(stack.sql, maker.userId, 1);
    await expectNamed(/^1 webhook endpoints cannot be signed for: .* rotate their secrets/, async () => {
      await maker.call(z.unknown(), "POST", `/api/webhooks/${webhookId}/secret/rotate`, {});
      await letRetriesComeDue(stack.sql, stack, webhookId);
    });
  });

  test("a default model that the provider no longer has; the prediction that finds out is made by the next one", {
    timeout: LIMIT_MS,
  }, async () => {
    const maker = await newFilmMaker(stack);
    const [row] = await stack.sql`select model from keyframe.step_defaults where step = 'last-frame'`;
    const start = (...faults: string[]) => maker.start("last-frame", { prompt: promptWith(...faults) });
    const made = await maker.untilEnded(await start(`model_gone=${row?.model}`));
    expect(made).toMatchObject({ status: "succeeded", requestedModel: row?.model, attempt: 2 });
    expect(made.model).not.toBe(row?.model);
    const next = await start();
    expect(next.requestedModel).toBe(row?.model);
    await expectNamed(
      new RegExp(`^The model ${row?.model} of the step last-frame is not available: .* Starts use ${next.model}\\.`),
      () => stack.sql`update keyframe.models set refused_at = null where step = 'last-frame' and model = ${row?.model}`,
    );
    expect(await start()).toMatchObject({ model: row?.model, requestedModel: null });
  });

  test("calls of the database that take 1.5 s", { timeout: LIMIT_MS }, async () => {
    const well = await receive(answers(200));
    const [owner = ""] = await addOwners(well.url, 1);
    // Each claim updates this row. The trigger stays: to drop it would wait for the transactions that are open here.
    const take = (seconds: number) =>
      stack.sql.unsafe(`
        create or replace function public.take_time() returns trigger language plpgsql as
          'begin perform pg_sleep(${seconds}); return new; end'`);
    await take(1.5);
    await stack.sql`
      create trigger take_time before update on keyframe_private.worker_heartbeats
      for each row when (new.function_name = 'deliver') execute function public.take_time()`;
    await insertProjects(stack.sql, owner, 1);
    await expectNamed(/^deliver waits 1\.\d s for a call of the database.* Look at the load of Postgres/, async () => {
      await take(0);
      await insertProjects(stack.sql, owner, 1);
    });
  });
});

test("a kick that has waited for 20 s behind others' slow requests → health says that pg_net is busy, and nothing else", {
  timeout: LIMIT_MS,
}, async () => {
  const [well, slow] = await Promise.all([receive(answers(200)), receive(hangs)]);
  const [owner = ""] = await addOwners(well.url, 1);
  await until("health is ok", async () => (await readHealth()).length === 0, OVER_WITHIN_MS);
  await untilNobodyLooks(stack.sql);
  await stack.sql`select net.http_get(${slow.url}, timeout_milliseconds => 60000) from generate_series(1, 201)`;
  await until("pg_net has asked", () => slow.arrivals.length > 0);
  await insertProjects(stack.sql, owner, 1);
  // As if 20 s had gone by.
  await stack.sql`
    update net.http_request_queue
    set headers = headers || jsonb_build_object('webhook-timestamp', ((headers ->> 'webhook-timestamp')::bigint - 20)::text)
    where headers ? 'webhook-timestamp'`;
  await until("health is degraded", async () => (await readHealth()).length > 0, NAMED_WITHIN_MS);
  expect(await readHealth()).toEqual([
    expect.stringMatching(/^pg_net has had a kick .* busy with \d+ requests of other senders/),
  ]);
  await slow.close();
  await until("health is ok", async () => (await readHealth()).length === 0, OVER_WITHIN_MS);
});
