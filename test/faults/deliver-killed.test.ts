import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type FilmMaker, newFilmMaker } from "../support/film/film-maker.ts";
import { type FlowReceiver, type Habit, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers, hangs } from "../support/receiver/habits.ts";
import { insertProjects, register } from "../support/receiver/register.ts";
import {
  expectSoundDeliveries,
  isDelivered,
  letLeaseRunOut,
  readStories,
  untilStories,
} from "../support/receiver/story.ts";
import { killAndAwaitRestart } from "../support/stack/restarts.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// Its own stack, whose processes are killed, Postgres among them. Each is started again by its supervisor.
let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack({ ownServer: true });
});
afterAll(() => stack.stop());
const receivers: FlowReceiver[] = [];
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

type Listener = { maker: FilmMaker; webhookId: string; receiver: FlowReceiver };

/** Answered at once, so that deliver sends the next ones eight at a time. */
const FIRST = 20;

/** A new user with one endpoint at a receiver of their own, which behaves so after its first events. */
async function listen(habit: Habit): Promise<Listener> {
  const [receiver, maker] = await Promise.all([startFlowReceiver(answers(200)), newFilmMaker(stack)]);
  receivers.push(receiver);
  const listener = { receiver, maker, ...(await register(maker, receiver.url)) };
  await insertProjects(stack.sql, maker.userId, FIRST);
  await untilDelivered(listener, 0);
  receiver.behave(habit);
  return listener;
}

const untilHeld = ({ receiver }: Listener, count: number) =>
  until(`the receiver holds ${count} requests`, async () => receiver.arrivals.length >= FIRST + count);

const untilDelivered = ({ webhookId }: Listener, count: number, seconds?: number) =>
  untilStories(stack.sql, webhookId, `${count} more events are delivered`, FIRST + count, isDelivered, seconds);

/** Holds every request until released; then it answers those it holds, and later ones at once. */
function held(): { habit: Habit; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { habit: (response) => void promise.then(() => response.writeHead(200).end("held")), release: resolve };
}

/** How often each later event has arrived, fewest first. */
const timesArrived = ({ receiver }: Listener): number[] => {
  const counts = new Map<string, number>();
  for (const { id } of receiver.arrivals) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts.values()].slice(FIRST).toSorted();
};

async function toldBy({ webhookId, receiver }: Listener): Promise<string[][]> {
  const stories = await expectSoundDeliveries(stack.sql, webhookId, receiver);
  return stories.slice(FIRST).map(({ told }) => told);
}

/** Kills every process of Postgres that a crash would take with it, and waits until it serves again. */
async function killPostgres(): Promise<void> {
  const read = async () => {
    const [row] = await stack.sql<{ pid: number }[]>`
      select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`;
    return row?.pid;
  };
  const pid = await read();
  if (pid === undefined) throw new Error("Postgres has no main process.");
  Deno.kill(pid, "SIGKILL");
  await until("Postgres serves again", async () => (await read().catch(() => pid)) !== pid);
}

test("deliver is killed while a receiver holds a batch → the batch is sent again once its leases end, nothing else twice", async () => {
  const [slow, quick] = [await listen(hangs), await listen(answers(204))];
  await insertProjects(stack.sql, slow.maker.userId, 12);
  await insertProjects(stack.sql, quick.maker.userId, 12);
  await untilHeld(slow, 8);
  await untilDelivered(quick, 12);
  await killAndAwaitRestart(stack, "keyframe-deliver");
  slow.receiver.behave(answers(200));
  const stories = await readStories(stack.sql, slow.webhookId);
  expect(stories.slice(FIRST).every(({ lease_token }) => lease_token !== null)).toBe(true);
  await letLeaseRunOut(stack.sql, slow.webhookId);
  await untilDelivered(slow, 12);
  // The attempts of the dead process left no row: nobody knows how they ended.
  expect(await toldBy(slow)).toEqual(Array(12).fill(["1 200"]));
  expect(timesArrived(slow)).toEqual([...Array(4).fill(1), ...Array(8).fill(2)]);
  expect(await toldBy(quick)).toEqual(Array(12).fill(["1 204"]));
  expect(timesArrived(quick)).toEqual(Array(12).fill(1));
});

test("kill -9 of Postgres while a receiver holds a batch → every committed event arrives, uncommitted ones do not", async () => {
  const { habit, release } = held();
  const listener = await listen(habit);
  await insertProjects(stack.sql, listener.maker.userId, 20);
  await untilHeld(listener, 8);
  const open = await stack.sql.reserve();
  await open`begin`;
  await insertProjects(open, listener.maker.userId, 7);
  await insertProjects(stack.sql, listener.maker.userId, 20);
  await killPostgres();
  release();
  await untilDelivered(listener, 40);
  expect(await toldBy(listener)).toEqual(Array(40).fill(["1 200"]));
  // deliver kept what the receiver had answered until it could be recorded.
  expect(timesArrived(listener)).toEqual(Array(40).fill(1));
});
