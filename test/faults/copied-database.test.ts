import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { newFilmMaker } from "../support/film/film-maker.ts";
import { copyDatabase } from "../support/database/clone-database.ts";
import { answers } from "../support/receiver/habits.ts";
import { startFlowReceiver } from "../support/receiver/receiver.ts";
import { insertProjects, register } from "../support/receiver/register.ts";
import { isDelivered, untilStories } from "../support/receiver/story.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import { signalFunctions, spawnWorkerProcess } from "../support/stack/worker-process.ts";
import { until } from "../support/until.ts";

// Two stacks, one of them on a copy of the other's database, as after a restore beside the original.
let original: OwnStack;
beforeAll(async () => {
  original = await startOwnStack({ workers: "functions" });
});
afterAll(() => original.stop());

const problemsAt = async ({ url, secretKey }: OwnStack): Promise<string[]> => {
  const answer = await fetch(`${url}/functions/v1/api/health?deep=1`, { headers: { apikey: secretKey } });
  return (await answer.json()).data.problems;
};

test("a copied database next to its original → the original does all work, the copy none until set_address", async () => {
  const [receiver, maker] = await Promise.all([startFlowReceiver(answers(200)), newFilmMaker(original)]);
  onTestFinished(() => receiver.close());
  const { webhookId } = await register(maker, receiver.url);
  await untilNobodyLooks(original.sql);
  signalFunctions(original, "SIGSTOP");
  const made = await maker.start("first-frame");
  await insertProjects(original.sql, maker.userId, 1);
  const copy = await startOwnStack({ workers: "functions", databaseUrl: await copyDatabase(original.databaseUrl) });
  onTestFinished(() => copy.stop());
  signalFunctions(original, "SIGCONT");

  expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
  // The project, and the end of the run.
  await untilStories(original.sql, webhookId, "all is delivered", 2, isDelivered);
  await until("the copy's kicks have gone to the original", async () => {
    const accepted = await copy.sql`
      select from net._http_response where status_code = 202 and headers ? 'keyframe-function'`;
    return accepted.length >= 4;
  });
  const submits = (stack: OwnStack) =>
    stack.sql`select from keyframe_private.provider_submits where submitted_at is not null`;
  const expectNothingOfCopy = async () => {
    expect([(await submits(original)).length, (await submits(copy)).length]).toEqual([1, 0]);
    expect((await copy.sql`select from keyframe.webhook_attempts`).length).toBe(0);
    expect(receiver.arrivals.length).toBe(2);
  };
  await expectNothingOfCopy();

  for (const databaseUrl of [undefined, copy.databaseUrl]) {
    const process = await spawnWorkerProcess(copy, { databaseUrl });
    expect(await process.ended).toBe(1);
    expect(process.lines.at(-1)).toContain(
      `SUPABASE_URL is ${copy.url}, but the database belongs to another project: it works for ${original.url}.`,
    );
  }
  const said = await until("health names the other project", async () =>
    (await problemsAt(copy)).find((problem) => problem.startsWith("Kicks go to")),
  );
  expect(said).toContain(`Kicks go to ${original.url}, and this is ${copy.url}`);
  await expectNothingOfCopy();

  const [, statement = ""] = /: (select [^;]*)\.$/.exec(said) ?? [];
  await copy.sql.unsafe(statement);
  await until("the copy submits and sends too", async () => {
    const [row] = await copy.sql`select status from keyframe.predictions where id = ${made.predictionId}`;
    return row?.status === "succeeded";
  });
  await until("the receiver has the project twice", () => receiver.arrivals.length > 2);
});
