import { afterAll, expect, inject, test } from "vitest";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { expectSoundEnd } from "../support/flow-ending.ts";
import { newFilmMaker, promptWith } from "../support/flow-film-maker.ts";
import { runsAtProvider } from "../support/flow-provider.ts";
import { connect } from "../support/flow-stack.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

test("more starts than places → the rest wait in order with their position, cancelling moves them up, all end", async () => {
  const [limits] = await sql<{ places: number }[]>`select max_active_per_owner as places from private.settings`;
  const places = limits?.places ?? 0;
  const maker = await newFilmMaker(stack);
  const prompts = Array.from({ length: places + 4 }, () => promptWith("output_slow=2500"));
  const started: Prediction[] = [];
  for (const prompt of prompts) started.push(await maker.start("first-frame", { prompt }));
  const [first, ...waiting] = [started.slice(0, places), ...started.slice(places)];
  expect(first.filter(({ queuePosition }) => queuePosition)).toEqual([]); // 0 while it is queued, null once it runs
  expect(waiting.map(({ queuePosition }) => queuePosition)).toEqual([1, 2, 3, 4]);

  const leaving = waiting[1];
  if (!leaving) throw new Error("Nobody waits.");
  expect(await maker.cancel(leaving)).toMatchObject({ status: "canceled", queuePosition: null });
  const moved = await Promise.all(
    [waiting[0], waiting[2], waiting[3]].flatMap((one) => (one ? [maker.read(one)] : [])),
  );
  expect(moved.map(({ queuePosition }) => queuePosition)).toEqual([1, 2, 3]);

  // Somebody else's prediction does not wait behind them.
  const other = await newFilmMaker(stack);
  const quick = await other.untilEnded(await other.start("first-frame", { prompt: promptWith() }));
  expect(quick.status).toBe("succeeded");
  expect(await maker.read(waiting[3] ?? leaving)).toMatchObject({ status: "queued", startedAt: null });

  const ended = await Promise.all(started.map((made) => maker.untilEnded(made, 20)));
  for (const made of ended) {
    expect(made.status).toBe(made.predictionId === leaving.predictionId ? "canceled" : "succeeded");
    await expectSoundEnd(sql, made);
  }
  expect(await runsAtProvider(stack, prompts[places + 1] ?? "")).toEqual([]);
  const inOrder = await sql`
    select id from public.predictions where owner_id = ${maker.userId} and admitted_at is not null
    order by admitted_at, created_at`;
  const expected = started.filter(({ predictionId }) => predictionId !== leaving.predictionId);
  expect(inOrder.map(({ id }) => id)).toEqual(expected.map(({ predictionId }) => predictionId));
});
